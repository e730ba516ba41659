const READ_WRITE = 0o660;
const READ = 0o440;
const ENTER = 0o110;
const SETGID = 0o2000;

/**
 * Computes the mode of a file or directory after its group was changed to that of the volume. Bits are only added
 * (upstream: volume_linux.go).
 */
export function computeGroupMode(mode: number, kind: { directory: boolean; readOnly: boolean }): number {
  const wanted = kind.readOnly ? READ : READ_WRITE;
  return mode | wanted | (kind.directory ? SETGID | ENTER : 0);
}
