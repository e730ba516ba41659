/** The objects that the cluster's first machine creates for machines that join. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Instance } from '../instance.ts';
import type { WantedObject } from './cluster-objects.ts';
import type { JoinFacts } from './join-facts.ts';
import { joinObjects } from './join-facts.ts';
import { registryClientDir } from './registry.ts';

/** The credentials of the programs and the registry's certificates must exist. */
export function offerJoin(instance: Instance, facts: JoinFacts): WantedObject[] {
  const client = registryClientDir(instance);
  const read = (file: string): string => readFileSync(file, 'utf8');
  return joinObjects(facts, {
    'node-network.conf': read(instance.nodeNetworkConfig),
    'node-storage.conf': read(instance.nodeStorageConfig),
    'registry-ca.crt': read(join(client, 'ca.crt')),
    'registry-client.cert': read(join(client, 'client.cert')),
    'registry-client.key': read(join(client, 'client.key')),
  });
}

/** The ports that a firewall between the machines must allow. */
export function firewallLines(ports: {
  readonly addresses: readonly string[];
  readonly apiPort: number;
  readonly registryPort: number;
  readonly dnsPort: number;
}): string[] {
  const { addresses, apiPort, registryPort, dnsPort } = ports;
  return [
    `  firewall  to ${addresses.join(' and ')}: ${apiPort}/tcp API, ${registryPort}/tcp images, ${dnsPort}/tcp and ${dnsPort}/udp names`,
    '            between all nodes: 8472/udp pods, 10250/tcp agents',
  ];
}
