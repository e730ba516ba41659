import { annotations } from '../../api/annotations.ts';
import { nodes, podCertificateRequests, pods, serviceAccounts } from '../../api/client/resource-types.ts';
import { internalError } from '../../api/status/api-status-error.ts';
import type { AdmissionAttributes } from '../model/admission.ts';
import type { ObjectReader } from '../model/object-reader.ts';
import { objectOf, refusal } from './attributes.ts';

const quote = (value: string): string => JSON.stringify(value);

/**
 * Allows a node to request certificates only for pods that run on it, with their actual pod, service account and node
 * (upstream: noderestriction admitPodCertificateRequest). If the cache may not know an object yet, the error is one
 * that clients retry.
 */
export function checkPodCertificateRequest(
  attributes: AdmissionAttributes,
  node: string,
  { reader }: { readonly reader: ObjectReader },
): void {
  const { operation, subresource, namespace } = attributes;
  const refuse = (why: string): never => {
    throw refusal(attributes, why);
  };
  if (operation !== 'CREATE') refuse(`unexpected operation ${operation}`);
  if (subresource !== '') refuse(`unexpected subresource ${subresource}`);
  const { spec } = objectOf(attributes, podCertificateRequests);
  const podName = quote(`${namespace}/${spec.podName}`);
  const accountName = quote(`${namespace}/${spec.serviceAccountName}`);
  if (spec.nodeName !== node)
    refuse(
      `PodCertificateRequest.Spec.NodeName=${quote(spec.nodeName)}, which is not the requesting node ${quote(node)}`,
    );
  const own = reader.get(nodes, { namespace: '', name: node });
  if (own?.metadata.uid !== spec.nodeUID)
    throw stale(
      `PodCertificateRequest for pod ${podName} names node UID ${quote(spec.nodeUID)}`,
      own === undefined ? 'but there is no such node' : `inconsistent with the running node (${own.metadata.uid})`,
    );
  const pod = reader.get(pods, { namespace, name: spec.podName });
  if (pod === undefined) throw stale(`while retrieving pod ${podName} named in the PodCertificateRequest`, 'not found');
  if (pod.metadata.uid !== spec.podUID)
    throw stale(
      `PodCertificateRequest for pod ${podName} contains pod UID (${quote(spec.podUID)})`,
      `which differs from running pod ${quote(pod.metadata.uid)}`,
    );
  if (pod.spec.nodeName !== node)
    refuse(`pod ${podName} is not running on node ${quote(node)} named in the PodCertificateRequest`);
  if (pod.metadata.annotations?.[annotations.configMirror] !== undefined) refuse(`pod ${podName} is a mirror pod`);
  const ownAccount = pod.spec.serviceAccountName ?? '';
  if (ownAccount !== spec.serviceAccountName)
    refuse(
      `PodCertificateRequest for pod ${podName} contains serviceAccountName (${quote(spec.serviceAccountName)}) that differs from running pod (${quote(ownAccount)})`,
    );
  const account = reader.get(serviceAccounts, { namespace, name: spec.serviceAccountName });
  if (account?.metadata.uid !== spec.serviceAccountUID)
    throw stale(
      `PodCertificateRequest for pod ${podName} names service account UID ${quote(spec.serviceAccountUID)} of ${accountName}`,
      account === undefined
        ? 'but there is no such service account'
        : `which differs from the running service account (${quote(account.metadata.uid)})`,
    );
}

const stale = (what: string, why: string): Error => internalError(new Error(`${what}, ${why}`));
