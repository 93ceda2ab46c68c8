#!/bin/sh
# Makes what the pods need to know each other: a CA, a certificate of the server and one of the agents, and tokens.
#
#   sh secrets.sh DIR && kubectl apply -f namespace.yaml -f DIR/secrets.yaml
#
# DIR keeps them: ca.crt for clients, token-people for `fathom` and the page, token-sdk for OpenTelemetry SDKs, token-metrics
# for Prometheus. What DIR has already is kept, so a second run renews the certificates alone.
set -eu
[ $# = 1 ] || { echo "usage: sh secrets.sh DIR" >&2; exit 2; }
umask 077
mkdir -p "$1"
cd "$1"

[ -e ca.key ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -days 3650 -subj /CN=fathom-ca \
  -keyout ca.key -out ca.crt 2>/dev/null

# certificate NAME NAMES
certificate() {
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -subj "/CN=$1" -addext "subjectAltName=$2" \
    -keyout "$1.key" -out "$1.csr" 2>/dev/null
  openssl x509 -req -in "$1.csr" -copy_extensions copy -CA ca.crt -CAkey ca.key -days 365 -out "$1.crt" 2>/dev/null
  rm "$1.csr"
}
certificate fathom-server DNS:fathom-server,DNS:fathom-server.fathom,DNS:fathom-server.fathom.svc,IP:127.0.0.1
certificate fathom-agent DNS:fathom-agent,IP:127.0.0.1

for who in agent sdk people metrics; do
  [ -e "token-$who" ] || openssl rand -hex 32 >"token-$who"
done
# line NAME SCOPES
line() {
  echo "$1:$(cat "token-$1") $2"
}
{ line agent agent; line sdk ingest; line people query,control,snapshots; line metrics query; } >server-tokens
{ line people query,control; line metrics query; } >agent-tokens

# entry KEY FILE
entry() {
  echo "  $1: $(base64 <"$2" | tr -d '\n')"
}
secret() {
  printf 'apiVersion: v1\nkind: Secret\nmetadata: { name: %s, namespace: fathom }\ndata:\n' "$1"
}
{
  secret fathom-server
  entry tls.crt fathom-server.crt
  entry tls.key fathom-server.key
  entry tokens server-tokens
  echo ---
  secret fathom-agent
  entry tls.crt fathom-agent.crt
  entry tls.key fathom-agent.key
  entry ca.crt ca.crt
  entry token token-agent
  entry tokens agent-tokens
} >secrets.yaml
echo "made $(pwd)/secrets.yaml; it and the keys are secrets: keep them out of version control" >&2
