import { readFileSync } from 'node:fs';
import { askBackend } from '../../apiserver/aggregation/ask-backend.ts';
import { backendApis } from '../../apiserver/aggregation/backend-apis.ts';
import { backendDialer } from '../../apiserver/aggregation/backend-dialer.ts';
import type { ApiServerOptions } from '../../apiserver/options.ts';
import { MetadataTransport } from '../../apiserver/aggregation/metadata-transport.ts';
import { createAvailabilityController, serviceFacts } from '../../aggregator/availability-controller.ts';
import type { BackendTable } from '../../aggregator/backend-table.ts';
import { createLocalServicesKeeper } from '../../aggregator/local-services-keeper.ts';
import { resolveService } from '../../aggregator/resolve-service.ts';
import type { ApiClient } from '../../../api/client/api-client.ts';
import { HttpApiClient } from '../../../client/http-api-client.ts';
import type { OtherApis } from '../../controller-runtime/other-apis.ts';
import type { ApiBackend, BackendAddress } from '../../model/api-backends.ts';
import type { Definitions } from '../../model/definitions.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import type { UserInfo } from '../../model/user-info.ts';
import type { ClusterPki } from '../../pki/cluster-pki.ts';
import type { BaseDeps } from './base-deps.ts';
import type { ControlPlaneOptions } from '../flags/control-plane-options.ts';

export interface AggregationDeps extends BaseDeps {
  readonly reader: ObjectReader;
  readonly table: BackendTable;
  readonly pki: () => ClusterPki;
}

export interface ComposedAggregation {
  readonly options: NonNullable<ApiServerOptions['aggregation']>;
  /** Returns the APIs of other servers, with requests as this user. */
  otherApis(user: UserInfo): OtherApis;
  /** Returns the controllers of APIServices, which start with the server. */
  controllers(client: ApiClient, definitions: Definitions): readonly { start(): void; stop(): Promise<void> }[];
}

/** Composes API aggregation: which server serves an API, and how to connect to it. */
export function composeAggregation(
  { proxyClient, aggregatorRouting }: ControlPlaneOptions,
  { reader, table, pki, clock, log, random }: AggregationDeps,
): ComposedAggregation {
  const clientPair = (): { cert: string; key: string } => {
    if (proxyClient === undefined) {
      const { certificatePem: cert, keyPem: key } = pki().frontProxy.client;
      return { cert, key };
    }
    return {
      cert: readFileSync(proxyClient.certificateFile, 'utf8'),
      key: readFileSync(proxyClient.keyFile, 'utf8'),
    };
  };
  const dialer = backendDialer({ clock, clientPair });
  const resolve = ({ service }: ApiBackend): BackendAddress | string =>
    resolveService(service, serviceFacts(reader, service), {
      routing: aggregatorRouting ? 'endpoints' : 'service',
      random: random.next(),
    });
  return {
    options: { backends: table, dialer, resolve, serverId: random.uuid() },
    otherApis: (user) => {
      const apis = { dialer, resolve, clock, backends: table };
      return {
        ...backendApis(apis, user),
        clientFor: (api) => new HttpApiClient(new MetadataTransport(apis, api, user)),
      };
    },
    controllers: (client, definitions) => [
      createLocalServicesKeeper({ reader, client, definitions, clock, log }),
      createAvailabilityController({
        reader,
        client,
        table,
        ask: (backend, path) => askBackend({ dialer, resolve, clock }, backend, path),
        clock,
        log,
      }),
    ],
  };
}
