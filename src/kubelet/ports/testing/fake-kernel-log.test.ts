import { FakeKernelLog } from './fake-kernel-log.ts';
import { kernelLogContract } from './kernel-log-contract.ts';

kernelLogContract('fake kernel log', () => {
  const log = new FakeKernelLog();
  return { log, write: (line) => log.writeAsProgram(line) };
});
