/**
 * The program of the pause image, written as machine code because a bare machine has no compiler.
 *
 * What it does, in order: ignore SIGCHLD (the kernel then reaps every orphan itself, which matters when pods share
 * one process namespace), block SIGINT and SIGTERM, wait for one of them, exit 0. Blocking is what makes it work as
 * process 1: the kernel drops unhandled signals to process 1, but keeps blocked ones for a waiter.
 */
import { KubeletError } from '../../base/errors.ts';

/** Processor names as `process.arch` gives them. */
export type PauseArch = 'x64' | 'arm64';

const BASE_ADDRESS = 0x400000;
const HEADERS_SIZE = 64 + 56;
const SIGCHLD = 17;
const SIG_IGN = 1n;
const SA_NOCLDWAIT = 2n;
/** Bit n-1 stands for signal n: SIGINT is 2, SIGTERM is 15. */
const WAITED_SIGNALS = (1n << 1n) | (1n << 14n);

export function isPauseArch(arch: string): arch is PauseArch {
  return arch === 'x64' || arch === 'arm64';
}

/** A complete static ELF executable of about 270 bytes. */
export function buildPauseBinary(arch: PauseArch): Buffer {
  const code = arch === 'x64' ? x64Code() : arm64Code();
  if (code.length % 8 !== 0) throw new KubeletError('Internal', 'pause code must end on an 8-byte border');
  return Buffer.concat([elfHeaders(arch, code.length + signalData().length), code, signalData()]);
}

/**
 * `struct kernel_sigaction` (handler, flags, restorer, mask), then the signal set. Everything past the flags is 0 on
 * both processors.
 */
function signalData(): Buffer {
  const data = Buffer.alloc(40);
  data.writeBigUInt64LE(SIG_IGN, 0);
  data.writeBigUInt64LE(SA_NOCLDWAIT, 8);
  data.writeBigUInt64LE(WAITED_SIGNALS, 32);
  return data;
}

function elfHeaders(arch: PauseArch, bodySize: number): Buffer {
  const elf = Buffer.alloc(HEADERS_SIZE);
  elf.write('\u007fELF', 0, 'latin1');
  elf.set([2, 1, 1], 4); // 64 bit, little endian, version 1
  elf.writeUInt16LE(2, 16); // an executable
  elf.writeUInt16LE(arch === 'x64' ? 62 : 183, 18);
  elf.writeUInt32LE(1, 20);
  elf.writeBigUInt64LE(BigInt(BASE_ADDRESS + HEADERS_SIZE), 24); // entry
  elf.writeBigUInt64LE(64n, 32); // program headers follow at once
  elf.writeUInt16LE(64, 52);
  elf.writeUInt16LE(56, 54);
  elf.writeUInt16LE(1, 56);
  elf.writeUInt16LE(64, 58);
  const size = BigInt(HEADERS_SIZE + bodySize);
  elf.writeUInt32LE(1, 64); // PT_LOAD
  elf.writeUInt32LE(5, 68); // readable, executable
  elf.writeBigUInt64LE(BigInt(BASE_ADDRESS), 80);
  elf.writeBigUInt64LE(BigInt(BASE_ADDRESS), 88);
  elf.writeBigUInt64LE(size, 96);
  elf.writeBigUInt64LE(size, 104);
  elf.writeBigUInt64LE(0x10000n, 112);
  return elf;
}

const X64_CODE_SIZE = 88;

function x64Code(): Buffer {
  const bytes: number[] = [];
  const put = (...more: number[]): void => void bytes.push(...more);
  const u32 = (value: number): number[] => [
    value & 0xff,
    (value >> 8) & 0xff,
    (value >> 16) & 0xff,
    (value >> 24) & 0xff,
  ];
  const movEax = (value: number): void => put(0xb8, ...u32(value));
  const movEdi = (value: number): void => put(0xbf, ...u32(value));
  const syscall = (): void => put(0x0f, 0x05);
  /** Addresses count from the end of the instruction, 7 bytes long. */
  const lea = (register: 'rsi' | 'rdi', dataOffset: number): void =>
    put(0x48, 0x8d, register === 'rsi' ? 0x35 : 0x3d, ...u32(X64_CODE_SIZE + dataOffset - (bytes.length + 7)));
  const zeroEdi = (): void => put(0x31, 0xff);
  const zeroEsi = (): void => put(0x31, 0xf6);
  const zeroEdx = (): void => put(0x31, 0xd2);
  const movR10d8 = (): void => put(0x41, 0xba, ...u32(8));

  movEax(13);
  movEdi(SIGCHLD);
  lea('rsi', 0);
  zeroEdx();
  movR10d8();
  syscall(); // rt_sigaction
  movEax(14);
  zeroEdi();
  lea('rsi', 32);
  zeroEdx();
  movR10d8();
  syscall(); // rt_sigprocmask(SIG_BLOCK)
  const wait = bytes.length;
  movEax(128);
  lea('rdi', 32);
  zeroEsi();
  zeroEdx();
  movR10d8();
  syscall(); // rt_sigtimedwait
  put(0x85, 0xc0); // test eax,eax
  put(0x78, (wait - (bytes.length + 2)) & 0xff); // js wait: interrupted
  movEax(231);
  zeroEdi();
  syscall(); // exit_group(0)
  if (bytes.length !== X64_CODE_SIZE) throw new KubeletError('Internal', `pause code is ${bytes.length} bytes`);
  return Buffer.from(bytes);
}

const ARM64_CODE_SIZE = 88;

function arm64Code(): Buffer {
  const words: number[] = [];
  const put = (word: number): void => void words.push(word >>> 0);
  const mov = (register: number, value: number): void => put(0xd2800000 + value * 32 + register);
  const svc = (): void => put(0xd4000001);
  const adr = (register: number, dataOffset: number): void => {
    const distance = ARM64_CODE_SIZE + dataOffset - words.length * 4;
    put(0x10000000 + (distance % 4) * 0x20000000 + Math.floor(distance / 4) * 32 + register);
  };

  mov(8, 134);
  mov(0, SIGCHLD);
  adr(1, 0);
  mov(2, 0);
  mov(3, 8);
  svc(); // rt_sigaction
  mov(8, 135);
  mov(0, 0);
  adr(1, 32);
  mov(2, 0);
  mov(3, 8);
  svc(); // rt_sigprocmask(SIG_BLOCK)
  const wait = words.length;
  mov(8, 137);
  adr(0, 32);
  mov(1, 0);
  mov(2, 0);
  mov(3, 8);
  svc(); // rt_sigtimedwait
  put(0x37000000 + 31 * 0x80000 + ((wait - words.length) & 0x3fff) * 32); // tbnz w0, #31, wait: interrupted
  mov(8, 94);
  mov(0, 0);
  svc(); // exit_group(0)
  const code = Buffer.alloc(words.length * 4);
  words.forEach((word, index) => code.writeUInt32LE(word, index * 4));
  if (code.length !== ARM64_CODE_SIZE) throw new KubeletError('Internal', `pause code is ${code.length} bytes`);
  return code;
}
