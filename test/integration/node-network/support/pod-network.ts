/** A network namespace for a node, with a bridge and pods on it, and one for a machine outside. */
import { runCommand, tryCommand } from '../../../../src/up/commands.ts';

const ip = (...args: string[]): Promise<string> => runCommand(['ip', ...args]);

export interface NetworkEnd {
  readonly space: string;
  readonly v4: string;
  readonly v6: string;
}

export interface PodNetwork {
  readonly node: NetworkEnd;
  readonly bridge: string;
  readonly outside: NetworkEnd;
  /** In the order of their addresses, starting at .2. */
  readonly pods: readonly NetworkEnd[];
  inNode(...argv: string[]): Promise<string>;
  remove(): Promise<void>;
}

/** `id`: at most eight characters, unique to this test. */
export async function createPodNetwork(id: string, pods: number): Promise<PodNetwork> {
  const space = (name: string): string => `kts${id}${name}`;
  const node: NetworkEnd = { space: space('n'), v4: '10.84.0.1', v6: 'fd00:84::1' };
  const outside: NetworkEnd = { space: space('o'), v4: '192.0.2.9', v6: '2001:db8:2::9' };
  const ends = Array.from({ length: pods }, (_, index) => ({
    space: space(`p${index}`),
    v4: `10.84.0.${index + 2}`,
    v6: `fd00:84::${(index + 2).toString(16)}`,
  }));
  const bridge = 'bridge0';
  const inNode = (...argv: string[]): Promise<string> => runCommand(['ip', 'netns', 'exec', node.space, ...argv]);
  const join = async (
    end: NetworkEnd,
    link: string,
    gateway: NetworkEnd,
    length: readonly [number, number],
  ): Promise<void> => {
    await ip('netns', 'add', end.space);
    await ip('-n', node.space, 'link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', end.space);
    await ip('-n', node.space, 'link', 'set', link, 'up');
    await ip('-n', end.space, 'link', 'set', 'lo', 'up');
    await ip('-n', end.space, 'addr', 'add', `${end.v4}/${length[0]}`, 'dev', 'eth0');
    await ip('-n', end.space, 'addr', 'add', `${end.v6}/${length[1]}`, 'dev', 'eth0', 'nodad');
    await ip('-n', end.space, 'link', 'set', 'eth0', 'up');
    await ip('-n', end.space, 'route', 'add', 'default', 'via', gateway.v4);
    await ip('-n', end.space, '-6', 'route', 'add', 'default', 'via', gateway.v6);
  };
  await ip('netns', 'add', node.space);
  await ip('-n', node.space, 'link', 'set', 'lo', 'up');
  await inNode(
    'sh',
    '-c',
    'echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding; echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad;' +
      'for each in ip ip6; do echo 1 > /proc/sys/net/bridge/bridge-nf-call-${each}tables; done',
  );
  await ip('-n', node.space, 'link', 'add', 'name', bridge, 'type', 'bridge');
  await ip('-n', node.space, 'addr', 'add', `${node.v4}/24`, 'dev', bridge);
  await ip('-n', node.space, 'addr', 'add', `${node.v6}/64`, 'dev', bridge, 'nodad');
  await ip('-n', node.space, 'link', 'set', bridge, 'up');
  for (const [index, end] of ends.entries()) {
    await join(end, `v${index}`, node, [24, 64]);
    await ip('-n', node.space, 'link', 'set', `v${index}`, 'master', bridge);
    await inNode('sh', '-c', `echo 1 > /sys/class/net/v${index}/brport/hairpin_mode`);
  }
  await join(outside, 'out', { space: '', v4: '192.0.2.1', v6: '2001:db8:2::1' }, [24, 64]);
  await ip('-n', node.space, 'addr', 'add', '192.0.2.1/24', 'dev', 'out');
  await ip('-n', node.space, 'addr', 'add', '2001:db8:2::1/64', 'dev', 'out', 'nodad');
  return {
    node,
    bridge,
    outside,
    pods: ends,
    inNode,
    remove: async () => {
      for (const end of [...ends, outside, node]) await tryCommand(['ip', 'netns', 'del', end.space]);
    },
  };
}
