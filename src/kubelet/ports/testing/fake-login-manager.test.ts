import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { FakeLoginManager } from './fake-login-manager.ts';
import { loginManagerContract } from './login-manager-contract.ts';

loginManagerContract('the fake', async () => {
  const manager = new FakeLoginManager(new FakeClock());
  return {
    manager,
    shutDown: async () => manager.shutDown(),
    cancel: async () => manager.cancel(),
    isDown: () => manager.isDown,
    until: async (condition) => {
      if (!condition()) throw new Error('the fake reports everything at once');
    },
    end: async () => undefined,
  };
});
