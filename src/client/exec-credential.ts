import { isRecord } from '../base/json-record.ts';
import path from 'node:path';
import type { Clock } from '../base/clock.ts';
import { errorMessage, isKind, KubeletError } from '../base/errors.ts';
import { shortened } from '../base/printable.ts';
import { findProgram, programEnvironment, writableByAll } from '../base/program-environment.ts';
import { parseJsonQuietly } from '../base/quiet-parse.ts';
import { runProgram } from '../base/run-program.ts';
import type { ExecPlugin } from './exec-plugin-config.ts';
import { textOf } from './kubeconfig-section.ts';
import { isHeaderText } from './request-headers.ts';

/** The credential of a plugin; `certificate` and `key` are set together. */
export interface ExecCredential {
  readonly token?: string;
  readonly certificate?: string;
  readonly key?: string;
  /** Wall time in milliseconds; undefined: valid until it is refused. */
  readonly expiresMs?: number;
}

/** Runs the program and resolves with its output. Rejects with an error that names the cause. */
export type RunPlugin = (plugin: ExecPlugin, info: string) => Promise<string>;

/** Upstream has no timeout. */
const PLUGIN_LIMIT_MS = 60_000;
const PLUGIN_OUTPUT_BYTES = 1024 * 1024;
/** The pause after a failure of the plugin, in milliseconds, for all requests. */
const PAUSE_AFTER_FAILURE_MS = 2_000;
/**
 * The minimum lifetime of a credential that has already expired when received, in milliseconds, so that not every
 * request runs the plugin.
 */
const LEAST_LIFE_MS = 2_000;
/**
 * How often in a row a credential that is refused soon after it was received is replaced; then the refusal is final
 * until the credential is older.
 */
const MOST_REFUSED_SOON = 3;

/**
 * Without a shell, without standard input; killed with its children if it takes too long or writes too much. As
 * upstream, it is searched in the PATH of this process, never in the working directory. Root does not run a program
 * that every user could replace.
 */
export const runPlugin: RunPlugin = async ({ command, args, env, installHint }, info) => {
  const hint = installHint === '' ? '' : `\n\n${installHint}`;
  const failed = (how: string): Error => new Error(`exec: executable ${command} ${how}${hint}`);
  const program = path.isAbsolute(command) ? command : findProgram(command, process.env['PATH'] ?? '');
  if (program === undefined) throw failed('not found');
  const weak = process.geteuid?.() === 0 ? writableByAll(program) : undefined;
  if (weak !== undefined) throw failed(`is not run: any user may change ${weak}`);
  const options = {
    env: programEnvironment(process.env, { ...env, KUBERNETES_EXEC_INFO: info }),
    timeoutMs: PLUGIN_LIMIT_MS,
    outputLimitBytes: PLUGIN_OUTPUT_BYTES,
  };
  const result = await runProgram(program, args, options).catch((error: unknown) => {
    throw failed(isKind(error, 'NotFound') ? 'not found' : `failed: ${errorMessage(error)}`);
  });
  if (result.exitCode === 0) return result.stdout;
  const said = result.stderr.trim().slice(-500);
  throw failed(`failed with exit code ${result.exitCode}${said === '' ? '' : `: ${said}`}`);
};

/** Parses the output of a plugin. Throws upstream's messages. */
export function parseExecCredential(text: string, apiVersion: string): ExecCredential {
  let value: unknown;
  try {
    value = parseJsonQuietly(text);
  } catch (error) {
    throw new Error(`decoding stdout: ${errorMessage(error)}`, { cause: error });
  }
  const given = isRecord(value) ? value : {};
  if (given['kind'] !== 'ExecCredential')
    throw new Error(`decoding stdout: expected kind ExecCredential, got ${shown(given['kind'])}`);
  if (given['apiVersion'] !== apiVersion)
    throw new Error(
      `exec plugin is configured to use API version ${apiVersion}, plugin returned version ${shown(given['apiVersion']).replaceAll('"', '')}`,
    );
  const status = given['status'];
  if (!isRecord(status)) throw new Error("exec plugin didn't return a status field");
  const [token, certificate, key] = [
    textOf(status, 'token'),
    textOf(status, 'clientCertificateData'),
    textOf(status, 'clientKeyData'),
  ];
  if (token === undefined && certificate === undefined && key === undefined)
    throw new Error("exec plugin didn't return a token or cert/key pair");
  if ((certificate === undefined) !== (key === undefined))
    throw new Error('exec plugin returned only certificate or key, not both');
  if (token !== undefined && !isHeaderText(token))
    throw new Error('exec plugin returned a token with characters that no request can carry');
  const expiresMs = expiryOf(status['expirationTimestamp']);
  return {
    ...(token !== undefined && { token }),
    ...(certificate !== undefined && key !== undefined && { certificate, key }),
    ...(expiresMs !== undefined && { expiresMs }),
  };
}

/** Only a short excerpt: the output may be of any size and depth, and may be secret. */
const shown = (value: unknown): string =>
  typeof value === 'string'
    ? JSON.stringify(shortened(value, 64))
    : value === undefined
      ? '""'
      : `a value of type ${typeof value}`;

const rfc3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;

/**
 * Wall time in milliseconds. As upstream, an invalid time is an error: if it were ignored, the credential would never
 * expire.
 */
function expiryOf(given: unknown): number | undefined {
  if (given === undefined || given === null) return undefined;
  const ms = typeof given === 'string' && rfc3339.test(given) ? Date.parse(given) : NaN;
  if (Number.isNaN(ms)) throw new Error('decoding stdout: expirationTimestamp is not an RFC 3339 time');
  return ms;
}

/** The environment of a plugin. */
export function execInfo({ apiVersion, cluster }: ExecPlugin): string {
  return JSON.stringify({
    kind: 'ExecCredential',
    apiVersion,
    spec: { ...(cluster !== undefined && { cluster }), interactive: false },
  });
}

/**
 * Caches the last credential of a plugin while it is valid (upstream: client-go plugin/pkg/client/auth/exec).
 * 1. The plugin runs once at a time for all callers. 2. Expired or refused credentials are fetched again, unless
 * another caller has done so since.
 */
export class ExecCredentials {
  readonly #plugin: ExecPlugin;
  readonly #clock: Clock;
  readonly #run: RunPlugin;
  #known: ExecCredential | undefined;
  /** Monotonic. */
  #knownSinceMs = -Infinity;
  #refusedSoon = 0;
  #running: Promise<ExecCredential> | undefined;
  #failed: { readonly untilMs: number; readonly error: unknown } | undefined;

  constructor(plugin: ExecPlugin, { clock, run = runPlugin }: { readonly clock: Clock; readonly run?: RunPlugin }) {
    this.#plugin = plugin;
    this.#clock = clock;
    this.#run = run;
  }

  async current(): Promise<ExecCredential> {
    const known = this.#known;
    if (
      known !== undefined &&
      (known.expiresMs === undefined || known.expiresMs > this.#clock.nowMs() || this.#isNew())
    )
      return known;
    if (this.#failed !== undefined && this.#failed.untilMs > this.#clock.monotonicMs()) throw this.#failed.error;
    return (this.#running ??= this.#fetch().finally(() => (this.#running = undefined)));
  }

  /** `credential` was refused. */
  forget(credential: Pick<ExecCredential, 'token' | 'certificate'>): void {
    if (
      this.#known === undefined ||
      this.#known.token !== credential.token ||
      this.#known.certificate !== credential.certificate
    )
      return;
    this.#refusedSoon = this.#isNew() ? this.#refusedSoon + 1 : 0;
    if (this.#refusedSoon <= MOST_REFUSED_SOON) this.#known = undefined;
  }

  #isNew(): boolean {
    return this.#clock.monotonicMs() - this.#knownSinceMs < LEAST_LIFE_MS;
  }

  async #fetch(): Promise<ExecCredential> {
    try {
      const text = await this.#run(this.#plugin, execInfo(this.#plugin));
      this.#failed = undefined;
      this.#known = parseExecCredential(text, this.#plugin.apiVersion);
      this.#knownSinceMs = this.#clock.monotonicMs();
      return this.#known;
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
