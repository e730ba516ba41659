// The parent's side of `sample-api-program.ts`: starts it, kills it and controls its behaviour.
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { makeWebhookCertificate } from '../../../src/control-plane/admission/testing/webhook-certificate.ts';

export type SampleApiMode = 'good' | 'hang' | 'other-group' | 'cyclic' | 'huge';

export interface SampleApiStart {
  /** 0: a free port. */
  readonly port: number;
  readonly key: string;
  readonly cert: string;
  /** The authority of the front proxy's certificate. */
  readonly clientCa: string;
  readonly allowedNames: readonly string[];
}

export type SampleApiReport =
  | { readonly port: number }
  | { readonly mode: SampleApiMode }
  | { readonly asked: string; readonly user: string; readonly isResumed: boolean };

const SERVICE = 'sample-api';

export class SampleApi {
  readonly #pair = makeWebhookCertificate([`DNS:${SERVICE}.default.svc`]);
  readonly #trust: Pick<SampleApiStart, 'clientCa' | 'allowedNames'>;
  #child: ChildProcess | undefined;
  #port = 0;
  /** The requests since the last `asked.splice(0)`. */
  readonly asked: { readonly asked: string; readonly user: string; readonly isResumed: boolean }[] = [];

  constructor(trust: Pick<SampleApiStart, 'clientCa' | 'allowedNames'>) {
    this.#trust = trust;
  }

  /** Starts it on its previous port. */
  async start(): Promise<void> {
    const child = fork(path.join(import.meta.dirname, 'sample-api-program.ts'), {
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    this.#child = child;
    child.on('message', (said: SampleApiReport) => {
      if ('asked' in said) this.asked.push(said);
    });
    child.send({ start: { port: this.#port, ...this.#pair, ...this.#trust } });
    const [said] = (await once(child, 'message')) as [{ readonly port: number }];
    this.#port = said.port;
  }

  async behave(mode: SampleApiMode): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    const heard = new Promise<void>((resolve) => {
      const listen = (said: SampleApiReport): void => {
        if (!('mode' in said)) return;
        child.off('message', listen);
        resolve();
      };
      child.on('message', listen);
    });
    child.send({ mode });
    await heard;
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }

  /** A Service and the APIService of `samples.example.com/v1`. */
  manifests(): string {
    const caBundle = Buffer.from(this.#pair.cert).toString('base64');
    return [
      '',
      `{apiVersion: v1, kind: Service, metadata: {name: ${SERVICE}}, spec: {type: ExternalName, externalName: localhost}}\n`,
      `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.samples.example.com}, spec: {group: samples.example.com, version: v1, groupPriorityMinimum: 1000, versionPriority: 15, caBundle: ${caBundle}, service: {namespace: default, name: ${SERVICE}, port: ${this.#port}}}}`,
    ].join('---\n');
  }
}
