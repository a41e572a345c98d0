//! Hostile processes: lines for a shell that start a host, an agent or a subject of `reducers`.

/// The lines, by name. `MARK` is replaced by a number of seconds that the process sleeps. A test recognises the process
/// by this number.
pub const PROCESSES: &[(&str, &str)] = &[
    ("ends at once", "exit 0"),
    ("ends by a signal", "kill -SEGV $$"),
    ("is not found", "/no/such/program"),
    ("says nothing", "exec sleep MARK"),
    ("never reads", "exec 0<&-; exec sleep MARK"),
    ("closes its output", "exec 1>&-; exec sleep MARK"),
    ("lines without end", "yes '{\"jsonrpc\":\"2.0\",\"method\":\"x\"}'"),
    ("one line without end", "tr '\\000' x </dev/zero"),
    ("NULs without end", "cat /dev/zero"),
    ("complains without end", "yes complaint >&2"),
    ("complains in one line", "tr '\\000' x </dev/zero >&2"),
    ("echoes", "exec cat"),
    ("answers null", "while read line; do echo null; done"),
    ("answers with an array", "while read line; do echo '[1,2,3]'; done"),
    ("answers no JSON", "while read line; do printf '\\033[2J::error::x\\n'; done"),
    ("answers not UTF-8", "while read line; do printf '\\377\\376\\n'; done"),
    ("answers 9 MB", "while read line; do head -c 9000000 /dev/zero | tr '\\000' 1; echo; done"),
    ("answers deep", "while read line; do head -c 100000 /dev/zero | tr '\\000' '['; echo; done"),
    ("answers slowly", "while read line; do sleep 0.4; echo '{}'; done"),
    ("deaf to signals", "trap '' TERM INT HUP; sleep MARK & wait; sleep MARK"),
    ("a daemon", "setsid sleep MARK & exec sleep MARK"),
    ("a daemon with an empty environment", "env -i setsid setsid sleep MARK & sleep 0.2; exit 0"),
    ("daemons again and again", "while :; do env -i setsid sleep MARK & sleep 0.1; done"),
    ("a daemon that waits for its parent", "(sleep 0.3; env -i setsid sleep MARK) & exit 0"),
    ("kills its parent", "env -i setsid sleep MARK & sleep 0.3; kill -KILL $PPID; sleep MARK"),
    (
        "a daemon whose name is not UTF-8",
        "env -i setsid sh -c 'printf \"\\377) R 1 (x\" >/proc/self/comm; sleep 0.5; while :; do sleep MARK; done' & sleep 0.3; exit 0",
    ),
    (
        "a daemon whose main thread has ended",
        "env -i setsid python3 -c 'import ctypes, threading, time; threading.Thread(target=time.sleep, args=(MARK,)).start(); ctypes.CDLL(None).pthread_exit(None)' & sleep 0.3; exit 0",
    ),
    ("stops its parent", "kill -STOP $PPID; sleep MARK"),
    ("stops its parent again and again", "while kill -STOP $PPID; do :; done; sleep MARK"),
    ("stops its grandparent", "read -r _ _ _ up _ </proc/$PPID/stat; kill -STOP $up; sleep MARK"),
    (
        "stops the front",
        "read -r _ _ _ up _ </proc/$PPID/stat; read -r _ _ _ top _ </proc/$up/stat; grep -q harness /proc/$top/comm && kill -STOP $top; sleep MARK",
    ),
    (
        "stops the front and its grandparent",
        "read -r _ _ _ up _ </proc/$PPID/stat; read -r _ _ _ top _ </proc/$up/stat; grep -q harness /proc/$top/comm && kill -STOP $top $up; sleep MARK",
    ),
    (
        "kills its parent and its grandparent",
        "env -i setsid sleep MARK & sleep 0.3; read -r _ _ _ up _ </proc/$PPID/stat; grep -q ahp /proc/$up/comm && kill -KILL $up $PPID; sleep MARK",
    ),
    ("hangs its parent up", "sleep MARK & sleep 0.3; kill -HUP $PPID; sleep MARK"),
];
