// Members of an etcd cluster over real gRPC that share one small store, for tests of what a client does when an answer
// is lost or does not come.
import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import { RangeRequest, RangeResponse, StatusResponse, TxnRequest, TxnResponse } from '../generated/etcd-v3.ts';

/** How a member handles a transaction. */
export type Behaviour =
  | 'answer'
  /** Executes it, and breaks the connection. */
  | 'lose the answer'
  /** Does not execute it, and does not answer. */
  | 'be silent'
  /** Does not answer now, and executes it when `thaw` is called. */
  | 'freeze'
  /** Has no leader. */
  | 'drop';

export interface FakeMember {
  readonly endpoint: string;
  behaviour: Behaviour;
  /** The number of received transactions. */
  asked: number;
}

interface Kept {
  readonly value: Uint8Array;
  readonly modRevision: bigint;
}

export class FakeMembers {
  readonly members: FakeMember[] = [];
  readonly #servers: Server[] = [];
  readonly #kept = new Map<string, Kept>();
  readonly #frozen: (() => void)[] = [];
  #revision = 1n;

  async start(count: number): Promise<void> {
    for (let at = 0; at < count; at += 1) {
      const member: FakeMember = { endpoint: '', behaviour: 'answer', asked: 0 };
      const server = this.#serve(member);
      const port = await new Promise<number>((resolve, reject) =>
        server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
          error === null ? resolve(bound) : reject(error),
        ),
      );
      this.#servers.push(server);
      this.members.push(Object.assign(member, { endpoint: `http://127.0.0.1:${port}` }));
    }
  }

  stop(): void {
    for (const server of this.#servers) server.forceShutdown();
  }

  /** Writes as another client. */
  write(key: string, value: string): void {
    this.#kept.set(key, { value: Buffer.from(value), modRevision: (this.#revision += 1n) });
  }

  get(key: string): string | undefined {
    const kept = this.#kept.get(key);
    return kept === undefined ? undefined : Buffer.from(kept.value).toString();
  }

  get revision(): number {
    return Number(this.#revision);
  }

  /** Executes the frozen transactions. */
  thaw(): void {
    for (const carryOut of this.#frozen.splice(0)) carryOut();
  }

  #serve(member: FakeMember): Server {
    const server = new Server();
    const answers: Readonly<Record<string, (bytes: Buffer, done: Done) => void>> = {
      '/etcdserverpb.KV/Range': (bytes, done) => done(null, this.#range(RangeRequest.decode(bytes))),
      '/etcdserverpb.KV/Txn': (bytes, done) => this.#txn(member, TxnRequest.decode(bytes), done),
      '/etcdserverpb.Maintenance/Status': (_, done) =>
        done(null, Buffer.from(StatusResponse.encode(StatusResponse.fromPartial({})).finish())),
    };
    const same = (bytes: Buffer): Buffer => bytes;
    const codec = {
      ...{ requestSerialize: same, requestDeserialize: same, responseSerialize: same, responseDeserialize: same },
      ...{ requestStream: false as const, responseStream: false as const },
    };
    for (const [path, answer] of Object.entries(answers))
      server.addService(
        { call: { path, ...codec } },
        { call: (call: { readonly request: Buffer }, done: Done) => answer(call.request, done) },
      );
    return server;
  }

  #txn(member: FakeMember, request: TxnRequest, done: Done): void {
    member.asked += 1;
    const { behaviour } = member;
    if (behaviour === 'be silent') return;
    if (behaviour === 'freeze') return void this.#frozen.push(() => void this.#carryOut(request));
    if (behaviour === 'drop') return done({ code: status.UNKNOWN, details: 'raft proposal dropped' }, null);
    const answer = this.#carryOut(request);
    if (behaviour === 'lose the answer') done({ code: status.UNAVAILABLE, details: 'connection reset' }, null);
    else done(null, answer);
  }

  #carryOut({ compare, success, failure }: TxnRequest): Buffer {
    const succeeded = compare.every(
      ({ key, modRevision }) => (this.#kept.get(key)?.modRevision ?? 0n) === (modRevision ?? 0n),
    );
    if (succeeded)
      for (const { requestPut, requestDeleteRange } of success) {
        this.#revision += 1n;
        if (requestDeleteRange !== undefined) this.#kept.delete(requestDeleteRange.key);
        if (requestPut !== undefined)
          this.#kept.set(requestPut.key, { value: requestPut.value, modRevision: this.#revision });
      }
    const header = { revision: this.#revision };
    const responses = succeeded
      ? []
      : failure.map(({ requestRange }) => ({ responseRange: { header, kvs: this.#kvs(requestRange?.key ?? '') } }));
    return Buffer.from(TxnResponse.encode(TxnResponse.fromPartial({ header, succeeded, responses })).finish());
  }

  #range({ key }: RangeRequest): Buffer {
    const answer = { header: { revision: this.#revision }, kvs: this.#kvs(key) };
    return Buffer.from(RangeResponse.encode(RangeResponse.fromPartial(answer)).finish());
  }

  #kvs(key: string): (Kept & { readonly key: string })[] {
    const kept = this.#kept.get(key);
    return kept === undefined ? [] : [{ key, ...kept }];
  }
}

type Done = (error: { readonly code: status; readonly details: string } | null, answer: Buffer | null) => void;
