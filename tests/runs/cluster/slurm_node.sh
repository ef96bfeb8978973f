#!/usr/bin/env bash
# A real Slurm of one node, this machine, for the tests: Debian's packages, without systemd.
#
#     slurm_node.sh up FOLDER [accounting]   # install what is missing, configure, start; needs root
#     slurm_node.sh down FOLDER              # cancel all jobs, stop the daemons
#
# Configuration, state and logs lie in FOLDER; /etc/slurm/slurm.conf is a link to it while the node is up, since what a
# job starts finds the node by that name alone. A machine that has such a file belongs to a cluster and is left alone.
# Memory and time are enforced without control groups, so that it works in a container. With "accounting", slurmdbd
# keeps jobs in a MariaDB of its own in FOLDER, and sacct answers; without, only squeue knows what became of a job.
set -euo pipefail

folder=$(mkdir -p "$2" && cd "$2" && pwd)
installed=/etc/slurm/slurm.conf
export SLURM_CONF=$folder/slurm.conf

die() {
    echo "slurm_node.sh: $*" >&2
    exit 1
}

# As die, where it is not Slurm's fault: exit code 77 tells the tests to skip.
cannot() {
    echo "slurm_node.sh: $*" >&2
    exit 77
}

install_packages() {
    local missing=() package
    for package in "$@"; do
        dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
    done
    if [ ${#missing[@]} -gt 0 ]; then
        command -v apt-get >/dev/null || cannot "needs Debian's apt-get to install ${missing[*]}"
        export DEBIAN_FRONTEND=noninteractive
        apt-get install -y -qq --no-install-recommends "${missing[@]}" >"$folder/apt.log" 2>&1 ||
            { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}"; } \
                >"$folder/apt.log" 2>&1 || cannot "apt-get failed, see $folder/apt.log"
    fi
}

# Wait until a command succeeds, at most 30 s.
wait_for() {
    local end=$((SECONDS + 30))
    while [ $SECONDS -lt $end ]; do
        if timeout 5 "$@" >/dev/null 2>&1; then return; fi
        sleep 0.2
    done
    die "waited 30 s in vain for: $*"
}

# Stop the daemon whose process id a file holds, and wait until it is gone.
stop() {
    local file=$folder/$1.pid pid
    [ -s "$file" ] || return 0
    pid=$(cat "$file")
    kill "$pid" 2>/dev/null || true
    for _ in $(seq 50); do
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.2
    done
    kill -KILL "$pid" 2>/dev/null || true
    rm -f "$file"
}

start_database() {
    mariadb-install-db --no-defaults --user=root --datadir="$folder/database" --skip-test-db >"$folder/database.log" 2>&1
    mariadbd --no-defaults --user=root --datadir="$folder/database" --socket="$folder/database.sock" \
        --pid-file="$folder/mariadbd.pid" --skip-networking >>"$folder/database.log" 2>&1 &
    wait_for mariadb --no-defaults --socket="$folder/database.sock" --execute "SELECT 1"
    cat >"$folder/slurmdbd.conf" <<END
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
DbdHost=localhost
DbdPort=${port}2
SlurmUser=root
LogFile=$folder/slurmdbd.log
PidFile=$folder/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm
END
    chmod 600 "$folder/slurmdbd.conf"
    # The client library of MariaDB asks the environment where a local server listens.
    MYSQL_UNIX_PORT=$folder/database.sock slurmdbd
    wait_for sacctmgr -i show cluster
    sacctmgr -i -Q add cluster tests
}

up() {
    [ "$(id -u)" = 0 ] || cannot "needs root"
    # A node that was killed has left its link, and no daemon behind it.
    if [ -L "$installed" ] && ! pgrep -x slurmctld >/dev/null; then rm "$installed"; fi
    [ ! -e "$installed" ] || cannot "$installed exists: this machine is in a cluster, or another node is up"
    install_packages slurmctld slurmd slurm-client munge ${1:+slurmdbd mariadb-server}
    local host=$(hostname -s) port=$((200 + RANDOM % 300))
    # munged wants a folder that only its user may write.
    install -d -m 755 "$folder" "$folder/state" "$folder/spool"
    (umask 077 && head -c 128 /dev/urandom >"$folder/munge.key")
    munged --socket="$folder/munge.socket" --key-file="$folder/munge.key" --pid-file="$folder/munged.pid" \
        --log-file="$folder/munged.log" --seed-file="$folder/munge.seed" --force
    cat >"$folder/slurm.conf" <<END
ClusterName=tests
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CryptoType=crypto/munge
SlurmctldPort=${port}0
SlurmdPort=${port}1
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
MpiDefault=none
# Eight cores, whatever there are, so that what waits does not keep others waiting.
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerParameters=bf_interval=1,sched_min_interval=100000
# Memory is sampled every second and enforced; time ends a job 60 s after its least limit at the latest.
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
OverTimeLimit=0
InactiveLimit=0
KillWait=2
ReturnToService=2
MinJobAge=600
NodeName=$host NodeAddr=127.0.0.1 CPUs=8 RealMemory=16000 State=UNKNOWN
PartitionName=tests Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
    if [ -n "${1:-}" ]; then
        cat >>"$folder/slurm.conf" <<END
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort=${port}2
AccountingStoragePass=$folder/munge.socket
END
        start_database
    fi
    ln -sf "$SLURM_CONF" "$installed"
    slurmctld -c -f "$SLURM_CONF"
    slurmd -f "$SLURM_CONF"
    wait_for sh -c "sinfo --noheader --format=%t | grep -qx idle"
}

down() {
    if [ -s "$folder/slurmctld.pid" ]; then
        timeout 10 scancel --full --signal=KILL --user root 2>/dev/null || true
        timeout 10 scancel --user root 2>/dev/null || true
        # A job that does not end in time ends with its daemon.
        (wait_for sh -c '[ -z "$(squeue --noheader --states=RUNNING,COMPLETING)" ]') || true
    fi
    for daemon in slurmd slurmctld slurmdbd mariadbd munged; do
        stop "$daemon"
    done
    if [ "$(readlink "$installed")" = "$SLURM_CONF" ]; then rm "$installed"; fi
}

case "$1" in
up) up "${3:-}" ;;
down) down ;;
*) die "expected up or down, got $1" ;;
esac
