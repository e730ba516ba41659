import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { it } from 'node:test';
import { Registry } from 'prom-client';
import { AccessMetrics } from './access-metrics.ts';

const hash = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;

it('authentication and authorization metrics have upstream’s names', async () => {
  const metrics = new AccessMetrics(() => 7000, 'server');
  const registry = new Registry();
  metrics.showIn(registry);
  metrics.loaded('authorization', 'first');
  metrics.reloaded('authorization', undefined);
  metrics.reloaded('authorization', 'second');
  metrics.keysFetched('https://a', { keys: [] });
  metrics.keysFetched('https://b', { keys: [] });
  metrics.issuerRemoved('https://b');
  metrics.jwtJudged('https://a', false, 3);
  metrics.webhookAsked('hook', 'timeout', 30);
  metrics.webhookFailedOpen('hook', 'timeout');
  metrics.conditionsJudged('hook', 'excluded', 0);
  metrics.conditionsJudged('hook', 'error', 0);
  const lines = (await registry.metrics()).split('\n').filter((line) => !/^#|_bucket|_sum|^$/.test(line));
  const server = `apiserver_id_hash="${hash('server')}"`;
  const issuer = `jwt_issuer_hash="${hash('https://a')}"`;
  const file = 'apiserver_authorization_config_controller';
  const jwt = 'apiserver_authentication_jwt_authenticator';
  assert.deepEqual(lines.sort(), [
    `${jwt}_jwks_fetch_last_key_set_info{${issuer},${server},hash="${hash('{"keys":[]}')}"} 1`,
    `${jwt}_jwks_fetch_last_timestamp_seconds{result="success",${issuer},${server}} 7`,
    `${jwt}_latency_seconds_count{result="failure",${issuer}} 1`,
    `${file}_automatic_reload_last_timestamp_seconds{status="failure",${server}} 7`,
    `${file}_automatic_reload_last_timestamp_seconds{status="success",${server}} 7`,
    `${file}_automatic_reloads_total{status="failure",${server}} 1`,
    `${file}_automatic_reloads_total{status="success",${server}} 1`,
    `${file}_last_config_info{${server},hash="${hash('second')}"} 1`,
    'apiserver_authorization_match_condition_evaluation_errors_total{type="Webhook",name="hook"} 1',
    'apiserver_authorization_match_condition_evaluation_seconds_count{type="Webhook",name="hook"} 2',
    'apiserver_authorization_match_condition_exclusions_total{type="Webhook",name="hook"} 1',
    'apiserver_authorization_webhook_duration_seconds_count{name="hook",result="timeout"} 1',
    'apiserver_authorization_webhook_evaluations_fail_open_total{name="hook",result="timeout"} 1',
    'apiserver_authorization_webhook_evaluations_total{name="hook",result="timeout"} 1',
  ]);
});
