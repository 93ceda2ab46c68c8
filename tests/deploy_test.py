"""What deploy/ says against what is: Kubernetes' manifests hold together and name ports that the configuration binds, and every metric
of Grafana's dashboard is in the /metrics of a real server or agent, as every counter of a loss there is on it."""

import base64
import contextlib
import json
import os
import pathlib
import re
import ssl
import subprocess
import tempfile
import unittest
import unittest.mock
import urllib.request

from harness import otlp
from harness.certificates import Certificates
from harness.daemon import FREE_PORTS, Daemon
from harness.main import main
from harness.server import ROOT, Server, cli, until

try:
    import yaml
except ImportError:
    yaml = None

KUBERNETES = ROOT / "deploy/kubernetes"
DASHBOARD = ROOT / "deploy/grafana/fathom.json"
PROGRAMS = {"server": "fathom-server", "agent": "fathom-agent"}
# Which key of the configuration says where a container's port is listened to.
LISTENERS = {"query": "http", "ingest": "ingest", "otlp-grpc": "otlp-grpc", "otlp-http": "otlp-http", "metrics": "http"}


def configuration(name):
    lines = (KUBERNETES / f"{name}.conf").read_text(encoding="utf-8").splitlines()
    return dict(line.split(" = ", 1) for line in lines if line and not line.startswith("#"))


@unittest.skipIf(yaml is None, "python3-yaml is not installed")
class Kubernetes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kustomization = cls.load("kustomization.yaml")[0]
        cls.objects = [one for name in cls.kustomization["resources"] for one in cls.load(name)]
        cls.workloads = {name: cls.find(kind, program)["spec"] for name, kind, program in
                         (("server", "StatefulSet", "fathom-server"), ("agent", "DaemonSet", "fathom-agent"))}

    @staticmethod
    def load(name):
        return list(yaml.safe_load_all((KUBERNETES / name).read_text(encoding="utf-8")))

    @classmethod
    def find(cls, kind, name):
        (found,) = [one for one in cls.objects if (one["kind"], one["metadata"]["name"]) == (kind, name)]
        return found

    def pods(self):
        for name, workload in self.workloads.items():
            pod = workload["template"]["spec"]
            (container,) = pod["containers"]
            yield name, workload, pod, container

    def test_every_object_is_whole(self):
        versions = {"Namespace": "v1", "Service": "v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1",
                    "NetworkPolicy": "networking.k8s.io/v1"}
        self.assertEqual({one["kind"]: one["apiVersion"] for one in self.objects}, versions)
        for one in self.objects:
            self.assertRegex(one["metadata"]["name"], r"^[a-z0-9-]+$")
        files = {path.name for path in KUBERNETES.iterdir()}
        generated = {name for entry in self.kustomization["configMapGenerator"] for name in entry["files"]}
        self.assertEqual(files, set(self.kustomization["resources"]) | generated | {"kustomization.yaml", "secrets.sh"})

    def test_selectors_choose_their_own_pods(self):
        service = self.find("Service", "fathom-server")
        for name, workload, _, _ in self.pods():
            labels = workload["template"]["metadata"]["labels"]
            self.assertEqual(workload["selector"]["matchLabels"], labels, name)
        self.assertEqual(service["spec"]["selector"], self.workloads["server"]["template"]["metadata"]["labels"])
        self.assertEqual(self.workloads["server"]["serviceName"], service["metadata"]["name"])

    def test_every_mount_has_its_volume(self):
        for name, workload, pod, container in self.pods():
            claims = [claim["metadata"]["name"] for claim in workload.get("volumeClaimTemplates", [])]
            volumes = [volume["name"] for volume in pod["volumes"]] + claims
            self.assertEqual(sorted(volumes), sorted({mount["name"] for mount in container["volumeMounts"]}), name)
            maps = {volume["configMap"]["name"] for volume in pod["volumes"] if "configMap" in volume}
            self.assertLessEqual(maps, {entry["name"] for entry in self.kustomization["configMapGenerator"]})

    def test_ports_are_those_that_the_configuration_binds(self):
        for name, _, _, container in self.pods():
            bound = configuration(name)
            for port in container["ports"]:
                self.assertEqual(bound[LISTENERS[port["name"]]], f"0.0.0.0:{port['containerPort']}", f"{name} {port['name']}")
        names = {port["name"]: port["containerPort"] for port in self.workloads["server"]["template"]["spec"]["containers"][0]["ports"]}
        service = self.find("Service", "fathom-server")["spec"]["ports"]
        self.assertEqual({port["targetPort"]: port["port"] for port in service}, names)
        self.assertEqual(configuration("agent")["collector"], f"fathom-server:{names['ingest']}")

    def test_probes_and_scrapes_ask_at_ports_that_there_are(self):
        for name, workload, _, container in self.pods():
            names = {port["name"]: port["containerPort"] for port in container["ports"]}
            probes = [container[key] for key in ("startupProbe", "livenessProbe", "readinessProbe") if key in container]
            self.assertIn("/healthz", [probe.get("httpGet", {}).get("path") for probe in probes], name)
            for probe in probes:
                self.assertIn((probe.get("httpGet") or probe["tcpSocket"])["port"], names)
            annotations = workload["template"]["metadata"]["annotations"]
            self.assertIn(int(annotations["prometheus.io/port"]), names.values())

    def test_privileges_are_the_least(self):
        for name, _, pod, container in self.pods():
            security = container["securityContext"]
            self.assertEqual(security["capabilities"]["drop"], ["ALL"])
            self.assertFalse(security["allowPrivilegeEscalation"] or security.get("privileged", False))
            self.assertTrue(security["readOnlyRootFilesystem"])
            self.assertFalse(pod["automountServiceAccountToken"])
            self.assertNotIn("hostNetwork", pod)
            self.assertEqual(pod["nodeSelector"], {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}, name)
            self.assertEqual(pod.get("hostPID", False), name == "agent")
        unit = (ROOT / "deploy/systemd/fathom-agent.service").read_text(encoding="utf-8")
        bounding = re.search(r"^CapabilityBoundingSet=(.*)$", unit, re.MULTILINE)[1].split()
        added = self.workloads["agent"]["template"]["spec"]["containers"][0]["securityContext"]["capabilities"]["add"]
        self.assertEqual({f"CAP_{word}" for word in added}, set(bounding), "as the unit of systemd has it")

    def test_the_socket_is_where_programs_look(self):
        container = next(container for name, _, _, container in self.pods() if name == "agent")
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        self.assertEqual(configuration("agent")["agent-socket"], f"{mounts['socket']}/agent.sock")
        self.assertEqual(configuration("agent")["agent-socket"], "/run/fathom/agent.sock")

    def test_policies_choose_pods_and_ports_that_there_are(self):
        policies = [one for one in self.objects if one["kind"] == "NetworkPolicy"]
        self.assertEqual({one["metadata"]["name"] for one in policies}, {"fathom-server", "fathom-agent"})
        names = {name: {port["name"] for port in container["ports"]} for name, _, _, container in self.pods()}
        for policy in policies:
            name = policy["metadata"]["name"].removeprefix("fathom-")
            labels = self.workloads[name]["template"]["metadata"]["labels"]
            self.assertEqual(policy["spec"]["podSelector"]["matchLabels"], labels)
            self.assertEqual(policy["spec"]["policyTypes"], ["Ingress", "Egress"])
            allowed = [port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]]
            self.assertEqual(sorted(allowed), sorted(names[name]), "each port has one rule")
            self.assertTrue(all(rule["from"] for rule in policy["spec"]["ingress"]), "an empty list would be everybody")

    def test_no_port_is_open_to_strangers(self):
        for name in self.workloads:
            keys = configuration(name)
            self.assertLessEqual({"tls-certificate", "tls-key", "token-file"}, set(keys), name)
        self.assertLessEqual({"collector-ca", "collector-token-file"}, set(configuration("agent")))
        for _, _, pod, _ in self.pods():
            (secret,) = [volume["secret"] for volume in pod["volumes"] if "secret" in volume]
            self.assertFalse(secret.get("optional", False))

    def secrets(self, directory):
        """What secrets.sh makes, as the pods of server and agent have it."""
        subprocess.run(["sh", KUBERNETES / "secrets.sh", directory], check=True, capture_output=True)
        made = {one["metadata"]["name"]: one for one in yaml.safe_load_all((directory / "secrets.yaml").read_text(encoding="ascii"))}
        for name in self.workloads:
            place = directory / f"pod-{name}"
            place.mkdir(exist_ok=True)
            self.assertEqual(made[f"fathom-{name}"]["metadata"]["namespace"], self.kustomization["namespace"])
            for key, text in made[f"fathom-{name}"]["data"].items():
                (place / key).write_bytes(base64.b64decode(text))
                (place / key).chmod(0o440)
        return {name: directory / f"pod-{name}" for name in self.workloads}

    def test_server_and_agent_know_each_other_and_nobody_else(self):
        with tempfile.TemporaryDirectory(prefix="fathom-test-") as named:
            directory = pathlib.Path(named)
            pods = self.secrets(directory)
            texts = {name: (KUBERNETES / f"{name}.conf").read_text(encoding="utf-8").replace("/etc/fathom-secrets", str(place))
                     for name, place in pods.items()}
            server_keys = re.sub(r"= 0\.0\.0\.0:\d+", "= 127.0.0.1:0", texts["server"]).replace("= /var/lib/fathom", f"= {directory}/data")
            with Daemon("fathom-server", server_keys) as server:
                ingest = server.addresses["ingest"]
                agent_keys = (re.sub(r"= 0\.0\.0\.0:\d+", "= 127.0.0.1:0", texts["agent"]).replace("fathom-server:7072", ingest)
                              .replace("/run/fathom", str(directory)).replace("/var/lib/fathom-agent", f"{directory}/state"))
                asking = ["nodes", "--url", f"https://{server.addresses['http']}", "--ca", directory / "ca.crt", "--format", "table"]
                people = ["--token-file", directory / "token-people"]
                with Daemon("fathom-agent", agent_keys, "--node-name", "node-1"):
                    until(lambda: re.search("^node-1 .* connected ", cli(*asking, *people, check=0).stdout, re.MULTILINE), "the agent")
                self.assertNotEqual(cli(*asking).returncode, 0)
                self.assertNotEqual(cli(*asking, "--token-file", directory / "token-sdk").returncode, 0)
            before = (directory / "token-people").read_bytes()
            self.secrets(directory)
            self.assertEqual((directory / "token-people").read_bytes(), before, "a second run keeps tokens")

    def test_the_image_has_the_programs_and_the_user(self):
        text = (ROOT / "deploy/container/Dockerfile").read_text(encoding="utf-8")
        user = self.workloads["server"]["template"]["spec"]["securityContext"]["runAsUser"]
        self.assertIn(f"usermod --uid {user} fathom", text)
        for _, _, _, container in self.pods():
            self.assertIn(f"/packages/{container['command'][0].rsplit('/', 1)[1]}_*.deb", text)
        self.assertTrue(text.startswith("# ") and "\nFROM debian:12-slim\n" in text)


class Units(unittest.TestCase):
    def test_they_run_what_every_debian_has(self):
        """A bare one has no procps, and so no `kill` but the shell's."""
        for name in PROGRAMS.values():
            text = (ROOT / f"deploy/systemd/{name}.service").read_text(encoding="utf-8")
            run = re.findall(r"^Exec\w+=(\S+)", text, re.MULTILINE)
            self.assertEqual(set(run), {f"/usr/bin/{name}", "/bin/sh"})


class Dashboard(unittest.TestCase):
    SOURCES = {name for folder in ("collector", "net", "node-agent", "query", "store") for path in (ROOT / folder).rglob("*.*")
               if path.suffix in (".cc", ".h") and not path.stem.endswith("_test")
               for name in re.findall(r'"(fathom_[a-z_]+)"', path.read_text(encoding="utf-8"))}

    @classmethod
    def setUpClass(cls):
        cls.dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
        cls.panels = [panel for panel in cls.dashboard["panels"] if panel["type"] != "row"]
        cls.expressions = [target["expr"] for panel in cls.panels for target in panel["targets"]]

    def test_every_counter_of_a_loss_is_shown(self):
        lost = {name for name in set(self.found()) | self.SOURCES if re.search(r"lost_|rejected_|dropped|refused", name) and name.endswith("_total")}
        lost = {name for name in lost if "_bytes_" not in name}  # what they are the bytes of is counted, too
        self.assertGreater(len(lost), 25)
        self.assertEqual(lost - set(re.findall(r"\bfathom_[a-z_]+", " ".join(self.expressions))), set())

    def test_every_count_of_damage_is_shown(self):
        shown = set(re.findall(r"\bfathom_[a-z_]+", " ".join(self.expressions)))
        page = (ROOT / "docs/durability.md").read_text(encoding="utf-8")
        found = {name for name in self.SOURCES if re.search(r"_(damaged|unreadable|cut_log|state_failures)", name)}
        self.assertGreater(len(found), 5)
        self.assertEqual((found | set(re.findall(r"\bfathom_[a-z_]+", page))) - shown, set())

    def test_every_metric_and_label_is_there(self):
        found = self.found()
        self.assertGreater(len(self.expressions), 20)
        for expression in self.expressions:
            names = re.findall(r"\b((?:fathom|process)_[a-z_]+)", expression)
            self.assertTrue(names, expression)
            for name in names:
                if name not in found:  # some are there when it first happens
                    self.assertRegex(name, "lost_", expression)
                    self.assertIn(name, self.SOURCES, expression)
                    continue
                for label in re.findall(r"\w+", "".join(re.findall(r"by \(([^)]*)\)", expression))):
                    self.assertIn(label, found[name], f"{expression}: of {name}")

    @classmethod
    def found(cls):
        """{name: labels} of a server and an agent that have seen a span, and record by a stand-in for Intel PT."""
        if not hasattr(cls, "kept"):
            with unittest.mock.patch.dict(os.environ, {"FATHOM_PT_STAND_IN": "1"}):
                cls.kept = cls.metrics()
        return cls.kept

    @classmethod
    def metrics(cls):
        with Server(arguments=["--agent-http", "127.0.0.1:0", "--pt"]) as server:
            otlp.send(server.otlp_http, otlp.request("shop", [otlp.span(otlp.trace_id(), "GET /", 1_000_000)]))
            address = until(lambda: re.search(r"metrics at (http://\S+)", server.log_text()), "the agent says where its metrics are")[1]
            text = server.get("/metrics")[1] + cls.fetch(address)
        text += cls.metrics_with_certificates()
        found = {}
        for name, labels in re.findall(r"^(\w+)(?:\{(.*)\})? ", text, re.MULTILINE):
            found.setdefault(name, set()).update(re.findall(r'(\w+)="', labels))
        return found

    @staticmethod
    def metrics_with_certificates():
        made = Certificates()
        with contextlib.closing(made), tempfile.TemporaryDirectory(prefix="fathom-test-") as data:
            made.make("server")
            tokens = made.write("tokens", "0123456789abcdef0123456789abcdef\n")
            keys = f"{FREE_PORTS}data = {data}\ntoken-file = {tokens}\n{made.keys('server')}"
            with Daemon("fathom-server", keys) as server:
                request = urllib.request.Request(f"https://{server.addresses['http']}/metrics",
                                                 headers={"Authorization": "Bearer 0123456789abcdef0123456789abcdef"})
                trusted = ssl.create_default_context(cafile=made.path("ca.crt"))
                with urllib.request.urlopen(request, timeout=60, context=trusted) as response:
                    return response.read().decode()

    @staticmethod
    def fetch(address):
        with urllib.request.urlopen(address, timeout=60) as response:
            return response.read().decode()

    def test_panels_do_not_overlap(self):
        taken = set()
        for panel in self.dashboard["panels"]:
            place = panel["gridPos"]
            self.assertLessEqual(place["x"] + place["w"], 24)
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
            self.assertFalse(cells & taken, panel["title"])
            taken |= cells
        self.assertEqual(len({panel["id"] for panel in self.dashboard["panels"]}), len(self.dashboard["panels"]))


if __name__ == "__main__":
    main()
