"""What a hostile candidate tries and what an honest one needs, as snippets with what must come of them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Attempt:
    """`source` must end in an exception, whose text is not looked at, at every level but those in `allowed_at`."""

    name: str
    source: str
    allowed_at: tuple[str, ...] = ()


_LIBC = "import ctypes, os; libc = ctypes.CDLL(None, use_errno=True)\n"
_SYSCALL = (
    _LIBC
    + """
def call(number, *args):
    if libc.syscall(number, *args) < 0:
        raise OSError(ctypes.get_errno(), 'refused')
"""
)
_NO_CATCH_UID = ("user", "user-without-namespaces")

REFUSED = (
    Attempt("parent's memory", "open(f'/proc/{PARENT}/mem', 'rb').read(1)"),
    Attempt("parent's environment", "open(f'/proc/{PARENT}/environ', 'rb').read(1)"),
    Attempt("parent's descriptors", "import os; os.listdir(f'/proc/{PARENT}/fd')"),
    Attempt("signal to the parent", "import os; os.kill(PARENT, 0)"),
    Attempt("signal to the test", "import os; os.kill(TEST_PID, 0)"),
    Attempt("signal to everybody", "import os; os.kill(-1, 0)"),
    Attempt("parent by pidfd", "import os, signal; signal.pidfd_send_signal(os.pidfd_open(PARENT), 0)"),
    Attempt("parent's affinity", "import os; os.sched_setaffinity(PARENT, {0})"),
    Attempt("parent's limits", "import resource; resource.prlimit(PARENT, resource.RLIMIT_CPU)"),
    Attempt("parent's priority", "import os; os.setpriority(os.PRIO_PROCESS, PARENT, 10)"),
    Attempt("Postgres", "import socket; socket.create_connection(('127.0.0.1', 5432), 2)"),
    Attempt("Redis", "import socket; socket.create_connection(('127.0.0.1', 6379), 2)"),
    Attempt("UDP", "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))"),
    Attempt("abstract socket", "import socket; s = socket.socket(socket.AF_UNIX); s.connect(ABSTRACT_SOCKET)"),
    Attempt("unix socket", "import socket; s = socket.socket(socket.AF_UNIX); s.connect(UNIX_SOCKET)"),
    Attempt("datagram to an abstract socket", "import socket; socket.socketpair(type=socket.SOCK_DGRAM)"),
    Attempt("listening", "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()"),
    Attempt("secret in a readable file", "open(SECRET_FILE).read()"),
    Attempt("file of another user", "open(PRIVATE_FILE).read()"),
    Attempt("write beside the secret", "open(SECRET_FILE + '.new', 'w')"),
    Attempt("write into the evaluator", "import evaluator; open(evaluator.__file__, 'a')"),
    Attempt("write into site-packages", "import sysconfig; open(sysconfig.get_path('purelib') + '/x.pth', 'w')"),
    Attempt("write into /usr", "open('/usr/lib/x', 'w')"),
    Attempt("write into /var/tmp", "open('/var/tmp/kernel-grader-x', 'w')"),
    Attempt("write to /proc/sys", "open('/proc/sys/kernel/core_pattern', 'w').write('|/bin/false')"),
    Attempt("trace the parent", _LIBC + "assert libc.ptrace(16, PARENT, 0, 0) == 0"),
    Attempt("be traced", _LIBC + "assert libc.ptrace(0, 0, 0, 0) == 0"),
    Attempt("mount", _LIBC + "assert libc.mount(b'none', SCRATCH.encode(), b'tmpfs', 0, 0) == 0"),
    Attempt("user namespace", _LIBC + "assert libc.unshare(0x10000000) == 0"),
    Attempt("clone with a namespace", _SYSCALL + "call(56, 0x10000000 | 17, 0, 0, 0, 0)"),
    Attempt("clone3", _SYSCALL + "call(435, 0, 0)"),
    Attempt("clone as a sibling", _SYSCALL + "call(56, 0x8000 | 17, 0, 0, 0, 0)"),
    Attempt("32-bit numbering", _SYSCALL + "call(0x40000000 | 39)"),
    Attempt("keyctl", _SYSCALL + "call(250, 0, -3, 1)"),
    Attempt("bpf", _SYSCALL + "call(321, 0, 0, 0)"),
    Attempt("userfaultfd", _SYSCALL + "call(323, 0)"),
    Attempt("perf events", _SYSCALL + "call(298, 0, 0, -1, -1, 0)"),
    Attempt("io_uring", _SYSCALL + "call(425, 1, 0)"),
    Attempt("process_vm_readv", _SYSCALL + "call(310, PARENT, 0, 0, 0, 0, 0)"),
    Attempt("System V shared memory", _SYSCALL + "call(29, 0, 4096, 0o1600)"),
    Attempt("outlive the parent", _LIBC + "assert libc.prctl(1, 0, 0, 0, 0) == 0"),
    Attempt("become root", "import os; os.setuid(0)"),
    Attempt("leave the group", "import os\nif os.fork() == 0:\n os._exit(0)\nos.wait(); os.setpgid(0, 0)"),
    Attempt(
        "a child's own session",
        "import os, subprocess; subprocess.run(['true'], start_new_session=True, check=True)",
    ),
    Attempt("huge file", "f = open('big', 'wb'); f.truncate(1 << 50)"),
    Attempt("raise a limit", "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 20, 1 << 20))"),
    Attempt("core dumps", "import resource; assert resource.getrlimit(resource.RLIMIT_CORE)[1]"),
    Attempt("inherited descriptor", "import os; names = os.listdir('/proc/self/fd'); assert len(names) > 4, names"),
    Attempt("raw disk", "open('/dev/vda', 'rb').read(1)"),
    Attempt("kernel log", "open('/dev/kmsg', 'w').write('x')"),
)

ALLOWED = (
    Attempt("import", "import decimal; result = decimal.Decimal(1)"),
    Attempt("scratch", "import os; open('x', 'w').write('1'); result = os.path.exists(SCRATCH + '/x')"),
    Attempt("temporary files", "import tempfile; f = tempfile.NamedTemporaryFile(); assert f.name.startswith(SCRATCH)"),
    Attempt("user name", "import getpass, os; result = getpass.getuser(); assert os.path.expanduser('~') == SCRATCH"),
    Attempt("threads", "import threading; t = threading.Thread(target=print); t.start(); t.join()"),
    Attempt("socket pair", "import socket; a, b = socket.socketpair(); a.sendall(b'x'); assert b.recv(1) == b'x'"),
    Attempt("null device", "open('/dev/null', 'w').write('x'); assert len(open('/dev/urandom', 'rb').read(4)) == 4"),
    Attempt(
        "compiler",
        "import subprocess; open('a.c', 'w').write('int main(){return 3;}')\n"
        "subprocess.run(['gcc', 'a.c', '-o', 'a'], check=True)\n"
        "assert subprocess.run(['./a']).returncode == 3",
    ),
    Attempt("shared memory between threads", "import mmap; mmap.mmap(-1, 1 << 20)[:1] == b'0'"),
)
