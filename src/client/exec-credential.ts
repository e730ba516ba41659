import { execFile } from 'node:child_process';
import type { Clock } from '../base/clock.ts';
import { errorMessage, KubeletError } from '../base/errors.ts';
import { parseJsonQuietly } from '../base/quiet-parse.ts';
import type { ExecPlugin } from './exec-plugin-config.ts';
import { isSection, textOf } from './kubeconfig-section.ts';

/** What a plugin says one is; `certificate` and `key` come together. */
export interface ExecCredential {
  readonly token?: string;
  readonly certificate?: string;
  readonly key?: string;
  /** Wall time; undefined: until it is refused. */
  readonly expiresMs?: number;
}

/** Runs the program and resolves with what it wrote. Rejects in words that say what failed. */
export type RunPlugin = (plugin: ExecPlugin, info: string) => Promise<string>;

/** Upstream waits for ever. */
const PLUGIN_LIMIT_MS = 60_000;
const PLUGIN_OUTPUT_BYTES = 1024 * 1024;
/** A plugin that failed is not run again for so long, however many requests ask. */
const PAUSE_AFTER_FAILURE_MS = 2_000;

/** Without a shell, without standard input; ended when it takes too long or says too much. */
export const runPlugin: RunPlugin = ({ command, args, env, installHint }, info) =>
  new Promise((resolve, reject) => {
    const options = {
      env: { ...process.env, ...env, KUBERNETES_EXEC_INFO: info },
      timeout: PLUGIN_LIMIT_MS,
      killSignal: 'SIGKILL',
      maxBuffer: PLUGIN_OUTPUT_BYTES,
      encoding: 'utf8',
    } as const;
    const child = execFile(command, args, options, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      const hint = installHint === '' ? '' : `\n\n${installHint}`;
      if (error.code === 'ENOENT') return reject(new Error(`exec: executable ${command} not found${hint}`));
      const how =
        typeof error.code === 'number'
          ? `failed with exit code ${error.code}`
          : error.killed === true
            ? `was ended after ${PLUGIN_LIMIT_MS / 1000} s`
            : `failed: ${error.signal ?? error.code ?? error.message}`;
      const said = stderr.trim().slice(-500);
      reject(new Error(`exec: executable ${command} ${how}${said === '' ? '' : `: ${said}`}${hint}`));
    });
    child.stdin?.end();
  });

/** Reads what a plugin wrote. Throws in upstream's words. */
export function parseExecCredential(text: string, apiVersion: string): ExecCredential {
  let value: unknown;
  try {
    value = parseJsonQuietly(text);
  } catch (error) {
    throw new Error(`decoding stdout: ${errorMessage(error)}`, { cause: error });
  }
  const given = isSection(value) ? value : {};
  if (given['kind'] !== 'ExecCredential')
    throw new Error(`decoding stdout: expected kind ExecCredential, got ${JSON.stringify(given['kind'] ?? '')}`);
  if (given['apiVersion'] !== apiVersion)
    throw new Error(
      `exec plugin is configured to use API version ${apiVersion}, plugin returned version ${String(given['apiVersion'])}`,
    );
  const status = given['status'];
  if (!isSection(status)) throw new Error("exec plugin didn't return a status field");
  const [token, certificate, key] = [
    textOf(status, 'token'),
    textOf(status, 'clientCertificateData'),
    textOf(status, 'clientKeyData'),
  ];
  if (token === undefined && certificate === undefined && key === undefined)
    throw new Error("exec plugin didn't return a token or cert/key pair");
  if ((certificate === undefined) !== (key === undefined))
    throw new Error('exec plugin returned only certificate or key, not both');
  const expiresMs = Date.parse(textOf(status, 'expirationTimestamp') ?? '');
  return {
    ...(token !== undefined && { token }),
    ...(certificate !== undefined && key !== undefined && { certificate, key }),
    ...(!Number.isNaN(expiresMs) && { expiresMs }),
  };
}

/** What a plugin is told by its environment. */
export function execInfo({ apiVersion, cluster }: ExecPlugin): string {
  return JSON.stringify({
    kind: 'ExecCredential',
    apiVersion,
    spec: { ...(cluster !== undefined && { cluster }), interactive: false },
  });
}

/**
 * What a plugin said last, for as long as it holds (upstream: client-go plugin/pkg/client/auth/exec).
 * 1. However many ask, it runs once at a time.
 * 2. What has expired, or was refused, is fetched anew; what was fetched since then is not.
 */
export class ExecCredentials {
  readonly #plugin: ExecPlugin;
  readonly #clock: Clock;
  readonly #run: RunPlugin;
  #known: ExecCredential | undefined;
  #running: Promise<ExecCredential> | undefined;
  #failed: { readonly untilMs: number; readonly error: unknown } | undefined;

  constructor(plugin: ExecPlugin, { clock, run = runPlugin }: { readonly clock: Clock; readonly run?: RunPlugin }) {
    this.#plugin = plugin;
    this.#clock = clock;
    this.#run = run;
  }

  async current(): Promise<ExecCredential> {
    const known = this.#known;
    if (known !== undefined && (known.expiresMs === undefined || known.expiresMs > this.#clock.nowMs())) return known;
    if (this.#failed !== undefined && this.#failed.untilMs > this.#clock.monotonicMs()) throw this.#failed.error;
    return (this.#running ??= this.#fetch().finally(() => (this.#running = undefined)));
  }

  /** `credential` was refused. */
  forget(credential: Pick<ExecCredential, 'token' | 'certificate'>): void {
    if (this.#known?.token === credential.token && this.#known?.certificate === credential.certificate)
      this.#known = undefined;
  }

  async #fetch(): Promise<ExecCredential> {
    try {
      const text = await this.#run(this.#plugin, execInfo(this.#plugin));
      this.#failed = undefined;
      return (this.#known = parseExecCredential(text, this.#plugin.apiVersion));
    } catch (cause) {
      const error = new KubeletError('Unavailable', `getting credentials: ${errorMessage(cause)}`, {
        op: 'run credential plugin',
        cause,
      });
      this.#failed = { untilMs: this.#clock.monotonicMs() + PAUSE_AFTER_FAILURE_MS, error };
      throw error;
    }
  }
}
