import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { nodeDialer } from '../../apiserver/connect/node-dialer.ts';
import type { ApiServerOptions, ProcessUsage } from '../../apiserver/options.ts';
import type { BaseDeps } from './base-deps.ts';
import { composeAudit } from './compose-audit.ts';
import type { ControlPlaneOptions } from '../flags/control-plane-options.ts';
import { openTracer } from '../../../tracing/open-tracer.ts';
import type { OpenTracer } from '../../../tracing/tracer-options.ts';
import { readTracingConfig } from '../configuration/read-tracing-config.ts';

export interface ComposedFront {
  readonly options: Pick<ApiServerOptions, 'kubelets' | 'audit' | 'tracer' | 'publicAddress' | 'processUsage'>;
  /** Writes buffered audit lines and sends the last traces. */
  close(): Promise<void>;
}

/**
 * The parts of the HTTP front end that use the machine: connections to kubelets, the audit log file, the process usage.
 */
export async function composeFront(options: ControlPlaneOptions, { clock, log }: BaseDeps): Promise<ComposedFront> {
  const pki = path.resolve(options.dataDir, 'pki');
  const { certificateFile, keyFile } = options.kubeletClient ?? {
    certificateFile: path.join(pki, 'apiserver-kubelet-client.crt'),
    keyFile: path.join(pki, 'apiserver-kubelet-client.key'),
  };
  const clientPair = (): { cert: string; key: string } => ({
    cert: readFileSync(certificateFile, 'utf8'),
    key: readFileSync(keyFile, 'utf8'),
  });
  const { kubeletAuthorityFile } = options;
  // Read for each connection, as the key pair is, so that a replaced CA takes effect immediately.
  const authority =
    kubeletAuthorityFile === undefined ? undefined : (): string => readFileSync(kubeletAuthorityFile, 'utf8');
  const kubelets = {
    dialer: nodeDialer({ clock, clientPair, ...(authority !== undefined && { certificateAuthority: authority }) }),
    preferredAddressTypes: options.kubeletPreferredAddressTypes,
  };
  const audit = await composeAudit(options, { clock, log });
  const tracer = await composeTracer(options, { clock, log });
  return {
    options: {
      kubelets,
      publicAddress: `${options.advertiseAddress}:${options.securePort}`,
      processUsage,
      ...(audit !== undefined && { audit: audit.options }),
      ...(tracer !== undefined && { tracer }),
    },
    close: async () => {
      await audit?.close();
      await tracer?.close();
    },
  };
}

async function composeTracer(
  { tracingConfigFile }: ControlPlaneOptions,
  { clock, log }: Pick<BaseDeps, 'clock' | 'log'>,
): Promise<OpenTracer | undefined> {
  if (tracingConfigFile === undefined) return undefined;
  const config = await readTracingConfig(tracingConfigFile);
  return openTracer({ ...config, service: 'apiserver', clock, log });
}

const startTimeSeconds = (Date.now() - performance.now()) / 1000;

function processUsage(): ProcessUsage {
  const { user, system } = process.cpuUsage();
  return {
    cpuSeconds: (user + system) / 1_000_000,
    residentBytes: process.memoryUsage.rss(),
    openFiles: openFiles(),
    startTimeSeconds,
  };
}

/** Returns the number of open files; undefined without /proc. */
function openFiles(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return undefined;
  }
}
