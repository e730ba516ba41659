import { KubeletError } from '../../../base/errors.ts';
import { AuditBatches } from '../../apiserver/audit/audit-batches.ts';
import { parseAuditPolicy } from '../../apiserver/audit/audit-policy.ts';
import { RotatingFile } from '../../apiserver/audit/rotating-file.ts';
import type { AuditOptions } from '../../apiserver/options.ts';
import { askJson } from '../../authn/webhook/http-json.ts';
import { readWebhookKubeconfig } from '../../authn/webhook/webhook-kubeconfig.ts';
import type { BaseDeps } from './base-deps.ts';
import type { AuditFileOptions, AuditWebhookOptions, ControlPlaneOptions } from '../flags/control-plane-options.ts';
import { readYamlFile } from '../configuration/read-yaml-file.ts';

const MEBIBYTE = 1024 * 1024;
const WEBHOOK_MS = 30_000;

type Deps = Pick<BaseDeps, 'clock' | 'log'>;

/** The destination of audit log lines. */
interface Backend {
  write(line: string): void;
  close(): Promise<void>;
}

/** Creates audit logging; undefined without an audit policy. */
export async function composeAudit(
  { audit }: ControlPlaneOptions,
  deps: Deps,
): Promise<{ readonly options: AuditOptions; close(): Promise<void> } | undefined> {
  if (audit === undefined) return undefined;
  const policy = await readYamlFile('audit-policy-file', audit.policyFile, 'allowed');
  const parsed = parseAuditPolicy(policy);
  if ('errors' in parsed)
    throw new KubeletError('Invalid', `--audit-policy-file ${audit.policyFile}: ${parsed.errors.join('; ')}`);
  const backends = [
    ...(audit.file === undefined ? [] : [composeFile(audit.file, deps)]),
    ...(audit.webhook === undefined ? [] : [composeWebhook(audit.webhook, deps)]),
  ];
  return {
    options: { policy, sink: (line) => backends.forEach((backend) => backend.write(line)) },
    close: async () => void (await Promise.all(backends.map((backend) => backend.close()))),
  };
}

function composeFile({ logPath, maxSizeMib, maxBackups, maxAgeDays }: AuditFileOptions, deps: Deps): Backend {
  if (logPath === '-')
    return { write: (line) => void process.stdout.write(`${line}\n`), close: () => Promise.resolve() };
  return new RotatingFile({ file: logPath, maxBytes: maxSizeMib * MEBIBYTE, maxBackups, maxAgeDays, ...deps });
}

function composeWebhook({ configFile, ...limits }: AuditWebhookOptions, deps: Deps): Backend {
  const target = { ...readWebhookKubeconfig(configFile), timeoutMs: WEBHOOK_MS };
  const batches = new AuditBatches({ post: (body) => askJson(target, body), ...limits, ...deps });
  return { write: batches.add, close: () => batches.close() };
}
