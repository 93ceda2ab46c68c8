"""Certificates that a test makes for itself, by openssl(1): CAs, and what each of them signs."""

import pathlib
import subprocess
import tempfile

CA_CONFIG = """[ca]
default_ca = c
[c]
database = {name}.index
serial = {name}.serial
certificate = {name}.crt
private_key = {name}.key
new_certs_dir = .
default_md = sha256
policy = p
unique_subject = no
[p]
CN = supplied
"""
NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


class Certificates:
    def __init__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="fathom-tls-")
        self.ca("ca")
        self.ca("other")

    def close(self):
        self.directory.cleanup()

    def path(self, name):
        return str(pathlib.Path(self.directory.name, name))

    def write(self, name, text):
        pathlib.Path(self.path(name)).write_text(text, encoding="utf-8")
        return self.path(name)

    def openssl(self, *words):
        made = subprocess.run(["openssl", *words], cwd=self.directory.name, capture_output=True, text=True, check=False)
        assert made.returncode == 0, f"openssl {' '.join(words)}\n{made.stderr}"

    def ca(self, name):
        self.openssl("req", "-x509", *NEW_KEY, "-days", "30", "-subj", f"/CN={name}", "-keyout", f"{name}.key",
                     "-out", f"{name}.crt")
        self.write(f"{name}.index", "")
        self.write(f"{name}.serial", "01\n")
        self.write(f"{name}.cnf", CA_CONFIG.format(name=name))

    def keys(self, certificate, client_ca=None):
        """Lines of a configuration file: what listeners show, and whose certificates they ask for."""
        text = f"tls-certificate = {self.path(certificate)}.crt\ntls-key = {self.path(certificate)}.key\n"
        return text + (f"tls-client-ca = {self.path(client_ca)}.crt\n" if client_ca else "")

    def make(self, name, ca="ca", names="IP:127.0.0.1", expired=False, days=10):
        """NAME.crt and NAME.key."""
        dates = ["-startdate", "20200101000000Z", "-enddate", "20200201000000Z"] if expired else ["-days", str(days)]
        self.openssl("req", *NEW_KEY, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        self.write(f"{name}.ext", f"subjectAltName={names}\n")
        self.openssl("ca", "-batch", "-notext", "-config", f"{ca}.cnf", *dates, "-extfile", f"{name}.ext",
                     "-in", f"{name}.csr", "-out", f"{name}.crt")
