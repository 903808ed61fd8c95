#!/bin/sh
# Run as root in a booted system that has the package, and a model as /model.gguf: starts the service
# and asks it. How scripts/test_service.sh tries packaging/cairn.service; "passed" is the last line
# when all is well.
set -eu

say() { echo "== $*"; }

# Nobody answers while the program starts; 503 while the model is loaded.
wait_until_ready() {
  curl -fs --retry 60 --retry-connrefused --retry-delay 1 -o /dev/null http://127.0.0.1:8080/health
}

# expect_answer KEY CODE: a chat with that key is answered so.
expect_answer() {
  code="$(curl -sS -m 60 -o /tmp/answer -w '%{http_code}' \
    http://127.0.0.1:8080/v1/chat/completions \
    -H "Authorization: Bearer $1" -H 'Content-Type: application/json' \
    -d '{"messages": [{"role": "user", "content": "What is a cairn?"}], "max_tokens": 8}')"
  [ "$code" = "$2" ] && return 0
  echo "asked with the key $1: $code and not $2: $(cat /tmp/answer)"
  exit 1
}

say "A model and a key, where the unit has them"
mkdir -p /etc/cairn /var/lib/cairn
mv /model.gguf /var/lib/cairn/model.gguf
(umask 077 && echo first >/etc/cairn/keys)

say "Start"
systemctl start cairn
wait_until_ready
expect_answer first 200
expect_answer second 401

say "Neither root nor anything else"
pid="$(systemctl show --property MainPID --value cairn)"
grep -E '^(Uid|CapEff|NoNewPrivs|Seccomp):' "/proc/$pid/status"
[ "$(stat -c %u "/proc/$pid")" != 0 ]
[ "$(stat -Lc %u /var/cache/cairn)" = "$(stat -c %u "/proc/$pid")" ]

say "Other keys: reload"
echo second >/etc/cairn/keys
systemctl reload cairn
sleep 2
expect_answer second 200
expect_answer first 401

say "Restart, on what the disk keeps"
systemctl restart cairn
wait_until_ready
ls -l /var/cache/cairn/*/*.cairn
expect_answer second 200

say "Stop"
systemctl stop cairn
[ "$(systemctl show --property Result --value cairn)" = success ]
systemd-analyze security cairn.service --no-pager | tail -n 1
echo passed
