import assert from 'node:assert/strict';
import type { KubectlResult, TestCluster } from './cluster.ts';

/** Variables in addition to those of every kubectl. */
type Environment = Readonly<Record<string, string>>;

/** kubectl in its own namespace, so that tests can share a cluster and run concurrently. */
export interface ScopedKubectl {
  readonly namespace: string;
  /** Standard output without the final newline; throws if kubectl fails. */
  run(words: string | readonly string[], input?: string, environment?: Environment): Promise<string>;
  /** The error output of a command that must fail; throws if it succeeds. */
  refused(words: string | readonly string[], input?: string, environment?: Environment): Promise<string>;
  try(words: string | readonly string[], input?: string, environment?: Environment): Promise<KubectlResult>;
}

/** A string is split at spaces; arguments with spaces must be given as a list. */
const split = (words: string | readonly string[]): readonly string[] =>
  typeof words === 'string' ? words.split(' ') : words;

export async function scopedKubectl(cluster: TestCluster, namespace: string): Promise<ScopedKubectl> {
  await cluster.createNamespace(namespace);
  const tried: ScopedKubectl['try'] = (words, input, environment) =>
    cluster.tryKubectl([`--namespace=${namespace}`, ...split(words)], input, environment);
  return {
    namespace,
    try: tried,
    run: async (words, input, environment) =>
      (await cluster.kubectl([`--namespace=${namespace}`, ...split(words)], input, environment)).trimEnd(),
    refused: async (words, input, environment) => {
      const { code, stdout, stderr } = await tried(words, input, environment);
      assert.notEqual(code, 0, `kubectl ${split(words).join(' ')} was not refused: ${stdout}`);
      return stderr.trimEnd();
    },
  };
}
