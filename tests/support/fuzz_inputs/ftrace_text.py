"""Ftrace text that no fixture is like."""

from __future__ import annotations

from support.fuzzing.corpus import Files

_SWITCH = (
    "prev_comm=a b prev_pid=1 prev_prio=120 prev_state={} ==> next_comm=c next_pid=2 next_prio=120"
)
_TEXTS = (
    # Linux 2.6.31, without flags
    (
        "# tracer: nop\n#\n#           TASK-PID    CPU#    TIMESTAMP  FUNCTION\n"
        f" a b-1    [000]  1.000001: sched_switch: {_SWITCH.format('S|K')}\n"
        " c-2    [000]  1.000002: sched_wakeup: comm=a b pid=1 prio=120 success=1 target_cpu=000\n"
    ),
    # of every flag
    "".join(
        f" a-1 [001] {flags} 1.00000{i}: sched_switch: {_SWITCH.format('R+')}\n"
        for i, flags in enumerate(("....", "dNh1.", "DnH2f", "bpz..", "XBZ..", "d.Ls123"))
    ),
    # with processes, and without them
    (
        " a-1 (  10) [000] ...1 1.0: tracing_mark_write: B|10|x\n"
        " a-1 (-----) [000] ...1 1.5: tracing_mark_write: E|10\n"
        " b-1 (  11) [000] ...1 2.0: tracing_mark_write: C|10|n|5\n"
    ),
    # latency format
    (
        "# tracer: wakeup\n#\n# wakeup latency trace v1.1.5 on 5.10.1\n"
        "  <idle>-0       3dNh1.    5us+: 0:120:R   + [003]  12:  0:R\n"
        " a-12 3d..2. 17us!: <stack trace>\n => schedule\n => do_exit+0x10/0x20 [mod]\n"
    ),
    # functions by name and by address
    " a-1 [000] ..... 1.0: vfs_open <-do_open+0x1/0x2\n a-1 [000] ..... 1.0: 0xffff <-ffffffff81000000\n",
    "cpus=1\n a-1 [000] .....           3: function:             x <-- y\n",
    " a-1 [000] ..... 1.0: funcgraph_entry:        0.5 us |  f();\n",
    # the kernel's function graph, without times and with all columns
    (
        "# tracer: function_graph\n# CPU  DURATION                  FUNCTION CALLS\n"
        " 0)               |  a() {\n 0)   1.3 us     |    b();\n 0)    a-1     =>    <idle>-0\n"
        " 0)   ==========> |\n 0) # 1865.611 us |    c(x=1);\n 0)    <idle>-0    =>     a-1\n"
        " 0)               |    /* sched_waking: comm=a pid=1 prio=1 target_cpu=000 */\n"
        " 1)   0.1 us      |  d(); /* = -2 */\n 0) # 1900.0 us   |  } /* a ret=0x1 */\n"
    ),
    (
        "   23.151907 |   0)     init-1     |  d..1. |               |  a() {\n"
        "   23.151912 |   0)     init-1     |  d.... |   4.819 us    |  } /* a */\n"
    ),
    # latencies, and system calls
    (
        " a-1 [001] 1.0: #1     inner/outer(us): 4/3 ts:1.000000009 count:9 nmi-count:1\n"
        " a-1 [001] 1.1: #6     context    irq timer_latency     39293 ns\n"
        " a-1 [001] 1.2: 190 12 99.99368 9 18 0 1007 18 1\n"
        ' a-1 [001] 1.3: sys_openat(dfd: 3, filename: 7f "a b", flags: 0x1)\n'
        " a-1 [001] 1.4: sys_openat -> 0x3\n"
    ),
    # lost events, and lines that are none
    "CPU:1 [LOST 12 EVENTS]\n a-1 [001] ..... 1.0: e: x=1\nCPU:1 [EVENTS DROPPED]\nwhat\n 0)  0.1 us | f();\n",
    # fields that differ from line to line
    "".join(
        f" a-1 [000] 1.00000{i}: e: {text}\n"
        for i, text in enumerate(
            ("x=1", "x=one y=2", 'x="a b" z=0x1', "(f+0x1 <- g) a=1", "a=1 a=2", "=", "", "x")
        )
    ),
    "# tracer: nop\n\\n\\\n a-1 [000] 1.0: irq_handler_entry: irq=1 name=x\\n\\\n",
    " a-1 [000] 1.0: block_rq_issue: 254,0 R 4096 () 8 + 8 none,0,0 [a]\n",
    " a-1 [000] 1.0: " + "k=v " * 80 + "\n",
    " a-1 [000] 1.0: print: tracing_mark_write: S|1|x|2\n a-1 [000] 2.0: bprint: f: F|1|x|2\n",
)


def inputs() -> list[Files]:
    """Texts of all kinds, whole and with a last line that is cut."""
    found: list[Files] = [{"": text.encode()} for text in _TEXTS]
    return [*found, {"": _TEXTS[0].encode()[:-20]}]
