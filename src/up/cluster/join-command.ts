/** `up --print-join-command`: creates a token, and prints the command for the other machine. */
import { readFileSync } from 'node:fs';
import { secrets } from '../../api/client/resource-types.ts';
import { systemClock } from '../../base/clock.ts';
import { errorMessage, isKind, KubeletError } from '../../base/errors.ts';
import { isApiError } from '../../api/status/api-status-error.ts';
import { readKubeconfig } from '../../client/kubeconfig.ts';
import { publicKeyHash } from '../../control-plane/cmd/token/token-command.ts';
import type { Instance } from '../instance.ts';
import { applyObjects, openClusterClient } from './cluster-client.ts';
import { bootstrapTokenSecret } from './cluster-objects.ts';
import { authorityFile, newBootstrapToken } from './credentials.ts';
import { joinSecretKey } from './join-facts.ts';
import { offerControlPlane } from './offer-control-plane.ts';

/** Throws `Invalid` when the cluster was started without `--listen`, `Unavailable` when it does not run. */
export async function printJoinCommand(
  instance: Instance,
  {
    tokenLifeMs,
    controlPlane,
    say,
  }: {
    readonly tokenLifeMs: number;
    /** For a machine that also runs an API server. */
    readonly controlPlane: boolean;
    readonly say: (message: string) => void;
  },
): Promise<void> {
  const client = openClusterClient(instance.adminConfig);
  try {
    const token = newBootstrapToken(systemClock.nowMs(), tokenLifeMs);
    await client.api.get(secrets, joinSecretKey);
    await applyObjects(client.api, [bootstrapTokenSecret(token, 'for a machine that joins')]);
    const { server } = readKubeconfig(instance.adminConfig);
    const hash = publicKeyHash(readFileSync(authorityFile(instance), 'utf8'));
    const offered = controlPlane ? await offerControlPlane(instance, client.api, token.id) : undefined;
    const more = offered === undefined ? '' : ` --join-control-plane --certificate-key ${offered.certificateKey}`;
    if (offered !== undefined && offered.needed.length > 0)
      say(`Copy to the same places on the other machine first: ${offered.needed.join(' ')}`);
    say(
      `npm run up -- --join ${new URL(server).host} --token ${token.id}.${token.secret} --discovery-token-ca-cert-hash ${hash}${more}`,
    );
  } catch (error) {
    if (isKind(error, 'Invalid') && !isApiError(error)) throw error;
    if (isApiError(error, 'NotFound'))
      throw new KubeletError(
        'Invalid',
        'no other machine can join: the cluster listens on its own bridge alone. Start it with up --listen ADDRESS',
        { cause: error },
      );
    throw new KubeletError('Unavailable', `the cluster does not answer: ${errorMessage(error)}`, { cause: error });
  } finally {
    client.close();
  }
}
