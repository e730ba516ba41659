import type { PodCertificateRequest } from '../../../api/certificates/pod-certificate-request.ts';
import type { ApiClient } from '../../../api/client/api-client.ts';
import type { OwnInformer } from '../../../api/client/informer.ts';
import { nodes, podCertificateRequests, serviceAccounts } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { sleep } from '../../../base/clock.ts';
import type { Clock } from '../../../base/clock.ts';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type {
  CertificateOrder,
  CredentialChange,
  IssuedCertificate,
  PodCertificates,
} from '../../ports/pod-credentials.ts';
import type { EventRecorder } from '../../ports/recorder.ts';
import { certificatePhase, nextCertificateState, REFRESH_OVERDUE_MS } from './certificate-state.ts';
import type { CertificatePhase, CertificateState, Credential, PendingRequest } from './certificate-state.ts';

/** How long a new volume waits for the signer before the pod gets an event about it. */
const ANSWER_LIMIT_MS = 2_000;
const REFRESH_RETRY_MS = 30_000;
/** The longest wait. Timers are limited to 2^31 ms, and the wall clock may be set. */
const LONGEST_WAIT_MS = 24 * 3_600_000;

/** A new key, and the request (PKCS #10) for its certificate. */
export interface RequestedKey {
  /** The key as PKCS #8 in PEM. */
  readonly key: string;
  /** The request as DER in base64. */
  readonly stub: string;
}

export interface IssuedCertificatesOptions {
  readonly client: ApiClient;
  /** The informer of requests for pods of this node. It starts when the first pod needs it. */
  readonly informer: OwnInformer<PodCertificateRequest>;
  readonly nodeName: string;
  /** Creates a key. `keyType` is one of those that validation accepts. */
  readonly makeKey: (keyType: string) => Promise<RequestedKey>;
  readonly onChange: (change: CredentialChange) => void;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

interface CertificateRecord {
  readonly podUid: string;
  readonly signerName: string;
  state: CertificateState;
  /** The events that the pod got about its current certificate. */
  announced: { readonly chain: string; readonly states: Set<string> } | undefined;
  wake: (() => void) | undefined;
}

/**
 * Requests certificates for pods, and renews them in time. Invariants:
 * 1. The key is created here, and stays in memory and in the volume.
 * 2. Nothing is stored. After a restart of the agent each volume gets a new certificate.
 * 3. A volume keeps the old certificate until there is a new one, also if a signer refuses or is unavailable.
 */
export class IssuedCertificates implements PodCertificates {
  readonly #options: IssuedCertificatesOptions;
  readonly #records = new Map<string, CertificateRecord>();
  readonly #end: () => void;

  constructor(options: IssuedCertificatesOptions) {
    this.#options = options;
    const changed = ({ metadata, spec }: PodCertificateRequest): void => {
      const waits = this.#of(spec.podUID).filter(
        ({ state }) => state.kind === 'requested' && state.pending.name === metadata.name,
      );
      if (waits.length === 0) return;
      for (const record of waits) record.wake?.();
      options.onChange({ kind: 'PodCertificateRequest', namespace: metadata.namespace, name: spec.podUID });
    };
    this.#end = options.informer.addHandlers({
      onUpdate: (_, after) => changed(after),
      onDelete: (last) => {
        for (const record of this.#of(last.spec.podUID)) this.#judge(record, last.metadata.name, undefined);
        options.onChange({ kind: 'PodCertificateRequest', namespace: last.metadata.namespace, name: last.spec.podUID });
      },
    });
  }

  async stop(): Promise<void> {
    this.#end();
    await this.#options.informer.stop();
  }

  async get(order: CertificateOrder): Promise<IssuedCertificate> {
    const { informer, clock } = this.#options;
    const { pod } = order;
    informer.start();
    const record = this.#recordOf(order);
    this.#readAnswer(record, pod);
    const nowMs = clock.nowMs();
    const { state } = record;
    if (state.kind === 'nothing' || (state.kind === 'issued' && nowMs >= state.current.refreshAtMs))
      await this.#request(record, order);
    if (record.state.kind === 'requested' && record.state.current === undefined) await this.#answered(record, pod);
    return this.#show(record, pod);
  }

  forget(podUid: string): void {
    for (const [key, record] of this.#records) if (record.podUid === podUid) this.#records.delete(key);
  }

  /** Drops the keys of other pods. It is called when all wanted pods are known. */
  retain(known: Pick<ReadonlySet<string>, 'has'>): void {
    for (const [key, { podUid }] of this.#records) if (!known.has(podUid)) this.#records.delete(key);
  }

  /** Returns the signer and the phase of each certificate that a volume shows or waits for. */
  phases(): { readonly signerName: string; readonly phase: CertificatePhase }[] {
    const nowMs = this.#options.clock.nowMs();
    return [...this.#records.values()].map(({ signerName, state }) => ({
      signerName,
      phase: certificatePhase(state, nowMs),
    }));
  }

  #of(podUid: string): readonly CertificateRecord[] {
    return [...this.#records.values()].filter((record) => record.podUid === podUid);
  }

  #recordOf({ pod, volume, sourceIndex, source }: CertificateOrder): CertificateRecord {
    const key = `${pod.metadata.uid}/${volume}/${sourceIndex}`;
    let record = this.#records.get(key);
    if (record === undefined) {
      record = {
        podUid: pod.metadata.uid,
        signerName: source.signerName ?? '',
        state: { kind: 'nothing' },
        announced: undefined,
        wake: undefined,
      };
      this.#records.set(key, record);
    }
    return record;
  }

  /**
   * Reads the answer to the record's request from the informer. A request that the informer does not show may be too
   * new.
   */
  #readAnswer(record: CertificateRecord, pod: Pod): void {
    if (record.state.kind !== 'requested') return;
    const { name } = record.state.pending;
    const request = this.#options.informer.get({ namespace: pod.metadata.namespace, name });
    if (request !== undefined) this.#judge(record, name, request, pod);
  }

  #judge(record: CertificateRecord, name: string, request: PodCertificateRequest | undefined, pod?: Pod): void {
    if (record.state.kind !== 'requested' || record.state.pending.name !== name) return;
    record.state = nextCertificateState(record.state, request, this.#options.random.next());
    const { state } = record;
    if (state.kind !== 'refused' || pod === undefined) return;
    const word = state.verdict === 'Denied' ? 'was denied' : 'failed';
    this.#options.recorder.event(
      pod,
      'Warning',
      state.verdict,
      `PodCertificateRequest ${pod.metadata.namespace}/${name} ${word}, reason=${JSON.stringify(state.reason)}, message=${JSON.stringify(state.message)}`,
    );
  }

  /** Waits until the signer has answered, up to the limit. */
  async #answered(record: CertificateRecord, pod: Pod): Promise<void> {
    const limit = new AbortController();
    record.wake = () => limit.abort();
    this.#readAnswer(record, pod);
    if (record.state.kind === 'requested')
      await sleep(this.#options.clock, ANSWER_LIMIT_MS, limit.signal).catch(() => undefined);
    record.wake = undefined;
    this.#readAnswer(record, pod);
  }

  async #request(record: CertificateRecord, order: CertificateOrder): Promise<void> {
    const current = record.state.kind === 'issued' ? record.state.current : undefined;
    try {
      record.state = { kind: 'requested', pending: await this.#create(order), current };
    } catch (error) {
      const message = `while creating ${current === undefined ? 'initial' : 'refresh'} PodCertificateRequest: ${errorMessage(error)}`;
      if (current === undefined)
        throw new KubeletError('Unavailable', message, { op: 'request certificate', cause: error });
      this.#options.log.warn('a certificate of a pod could not be renewed; the old one stays', {
        podUID: record.podUid,
        error: message,
      });
    }
  }

  async #create({ pod, source }: CertificateOrder): Promise<PendingRequest> {
    const { client, nodeName, makeKey } = this.#options;
    const { namespace, name, uid } = pod.metadata;
    const serviceAccountName = pod.spec.serviceAccountName ?? 'default';
    const { keyType = '', signerName = '', maxExpirationSeconds, userAnnotations } = source;
    const [account, node, made] = await Promise.all([
      client.get(serviceAccounts, { namespace, name: serviceAccountName }),
      client.get(nodes, { namespace: '', name: nodeName }),
      makeKey(keyType),
    ]);
    const { metadata } = await client.create(podCertificateRequests, {
      metadata: {
        namespace,
        name: '',
        uid: '',
        generateName: 'req-',
        ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid }],
      },
      spec: {
        signerName,
        podName: name,
        podUID: uid,
        serviceAccountName,
        serviceAccountUID: account.metadata.uid,
        nodeName,
        nodeUID: node.metadata.uid,
        stubPKCS10Request: made.stub,
        ...(maxExpirationSeconds !== undefined && { maxExpirationSeconds }),
        ...(userAnnotations !== undefined && { unverifiedUserAnnotations: userAnnotations }),
      },
    });
    return { name: metadata.name, key: made.key };
  }

  #show(record: CertificateRecord, pod: Pod): IssuedCertificate {
    const { state } = record;
    switch (state.kind) {
      case 'nothing':
        throw new KubeletError('Unavailable', 'credential bundle is not issued yet');
      case 'refused': {
        const word = state.verdict === 'Denied' ? 'denied' : 'failed';
        throw new KubeletError(
          'Invalid',
          `PodCertificateRequest was permanently ${word}: reason=${JSON.stringify(state.reason)} message=${JSON.stringify(state.message)}`,
        );
      }
      case 'requested':
        if (state.current === undefined) throw new KubeletError('Unavailable', 'credential bundle is not issued yet');
        return this.#current(record, pod, state.current);
      case 'issued':
        return this.#current(record, pod, state.current);
    }
  }

  #current(record: CertificateRecord, pod: Pod, current: Credential): IssuedCertificate {
    const nowMs = this.#options.clock.nowMs();
    this.#report(record, pod, current);
    const dueMs = [current.refreshAtMs, current.refreshAtMs + REFRESH_OVERDUE_MS + 1, current.notAfterMs + 1].find(
      (atMs) => atMs > nowMs,
    );
    const againInMs = Math.min((dueMs ?? Infinity) - nowMs, LONGEST_WAIT_MS);
    const isRetry = record.state.kind === 'issued' && nowMs >= current.refreshAtMs;
    return {
      key: current.key,
      chain: current.chain,
      againInMs: isRetry ? Math.min(againInMs, REFRESH_RETRY_MS) : againInMs,
    };
  }

  /** Records each event once per certificate. */
  #report(record: CertificateRecord, pod: Pod, current: Credential): void {
    if (record.announced?.chain !== current.chain) record.announced = { chain: current.chain, states: new Set() };
    const nowMs = this.#options.clock.nowMs();
    const due = [
      nowMs > current.refreshAtMs + REFRESH_OVERDUE_MS && {
        reason: 'CertificateOverdueForRefresh',
        message: 'PodCertificate refresh overdue',
      },
      nowMs > current.notAfterMs && { reason: 'CertificateExpired', message: 'PodCertificate expired' },
    ];
    for (const event of due) {
      if (event === false || record.announced.states.has(event.reason)) continue;
      record.announced.states.add(event.reason);
      this.#options.recorder.event(pod, 'Warning', event.reason, event.message);
    }
  }
}
