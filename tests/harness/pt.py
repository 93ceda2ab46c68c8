"""Packets of Intel PT by hand: a program that calls a function again and again, as a flat image and a raw stream."""

import struct

BASE = 0x1000
AGAIN = BASE + 5
#       call 0x1010           jmp 0x1000    int3           nop, ret
CODE = b"\xe8\x0b\0\0\0" + b"\xeb\xf9" + b"\xcc" * 9 + b"\x90\xc3"
INSTRUCTIONS_PER_CALL = 4
PSB = b"\x02\x82" * 8
PSBEND = b"\x02\x23"
MODE_64 = b"\x99\x01"
CALLS_PER_TNT = 6
TNT = b"\xfe"  # six branches taken: a compressed return each


def address(opcode, ip):
    """A packet with a whole address, of 48 bits."""
    return bytes([3 << 5 | opcode]) + struct.pack("<Q", ip)[:6]


def tsc(ticks):
    return b"\x19" + struct.pack("<Q", ticks)[:7]


def stream(calls, calls_per_psb=6000, ticks_per_call=10):
    """The packets, and how many instructions they stand for."""
    assert calls % CALLS_PER_TNT == 0 and calls_per_psb % CALLS_PER_TNT == 0
    parts = [PSB, tsc(ticks_per_call), MODE_64, PSBEND, address(0x11, BASE)]
    done = 0
    while done < calls:
        some = min(calls_per_psb, calls - done)
        parts.append(TNT * (some // CALLS_PER_TNT))
        done += some
        if done < calls:
            parts += [PSB, tsc((done + 1) * ticks_per_call), MODE_64, address(0x1d, AGAIN), PSBEND]
    parts += [address(0x1d, AGAIN), b"\x01"]
    return b"".join(parts), calls * INSTRUCTIONS_PER_CALL - 1
