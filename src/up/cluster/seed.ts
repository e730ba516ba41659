/** The Deployment of a new cluster. */
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { deployments, services } from '../../api/client/resource-types.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import { isKind } from '../../base/errors.ts';
import type { HttpApiClient } from '../../client/http-api-client.ts';
import { tryCommand } from '../commands.ts';
import { repositoryRoot } from '../places.ts';
import { pause } from '../processes.ts';
import { applyObjects } from './cluster-client.ts';

const MANIFEST = join(repositoryRoot, 'src', 'up', 'example', 'nginx-deployment.yaml');
export const exampleDeployment = { namespace: 'default', name: 'nginx-deployment' };
export const exampleService = { namespace: 'default', name: 'nginx' };

/**
 * Applies it with kubectl if it is installed, otherwise with our own client. Returns which one. Throws with kubectl's
 * message when it fails.
 */
export async function applyExample(api: HttpApiClient, kubeconfig: string): Promise<'kubectl' | 'the API'> {
  try {
    const { code, stdout, stderr } = await tryCommand(['kubectl', '--kubeconfig', kubeconfig, 'apply', '-f', MANIFEST]);
    if (code !== 0) throw new Error(`kubectl apply: ${stderr}${stdout}`);
    return 'kubectl';
  } catch (error) {
    if (!isKind(error, 'NotFound')) throw error;
  }
  const documents = parseAllDocuments(readFileSync(MANIFEST, 'utf8')).map((document) => document.toJSON() as ApiObject);
  const wanted = documents.map((object) => ({
    type: object.kind === 'Service' ? services : deployments,
    object: { ...object, metadata: { ...object.metadata, namespace: 'default', uid: '' } },
  }));
  await applyObjects(api, wanted);
  return 'the API';
}

const ASK_MS = 20;
const ANSWER_MS = 1000;

/** Polls until the response is 200: there is no event between a ready pod and the rule that routes to it. */
export async function whenServed(url: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && (await statusOf(url)) !== 200) await pause(ASK_MS);
}

/** 0: there was no answer. */
export function statusOf(url: string, timeoutMs = ANSWER_MS): Promise<number> {
  return new Promise((resolve) => {
    const call = get(url, { signal: AbortSignal.timeout(timeoutMs), agent: false }, (answer) => {
      resolve(answer.statusCode ?? 0);
      answer.destroy();
    });
    call.on('error', () => resolve(0));
    call.on('close', () => resolve(0));
  });
}
