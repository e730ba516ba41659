/** What every measurement of the cluster part gets. */
import type { HttpApiClient } from '../../../src/client/http-api-client.ts';
import type { TestContainerd } from '../../integration/support/containerd.ts';
import { RawPod } from '../raw-pod.ts';
import type { Row } from '../report.ts';
import type { Member } from './member.ts';
import type { ClusterBenchOptions } from './options.ts';
import type { PodBoard } from './pod-board.ts';

export interface ClusterContext {
  readonly containerd: TestContainerd;
  readonly member: Member;
  readonly board: PodBoard;
  /** Of an administrator. */
  readonly client: HttpApiClient;
  readonly options: ClusterBenchOptions;
  add(row: Row): void;
  /** A finding that is not a number: shown below the table. */
  note(text: string): void;
  /** Progress, on standard error. */
  say(text: string): void;
}

export const wants = ({ options }: ClusterContext, ...rows: readonly ClusterBenchOptions['only'][number][]): boolean =>
  rows.some((row) => options.only.includes(row));

/** A pod of the floor that carries what a pod of a cluster carries. */
export const rawPod = ({ containerd }: ClusterContext, name: string): RawPod =>
  new RawPod(containerd, name, { inCluster: true });
