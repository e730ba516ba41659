/** Listens on the health check ports of services. */
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import { errorMessage } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { HealthCheckPorts } from '../service-routing/health-reporter.ts';
import type { HealthAnswer } from '../service-routing/service-health.ts';

/** Connections per port; a load balancer has one or two, and the response is immediate. */
const MAX_CONNECTIONS = 64;
const REQUEST_MS = 5000;

/** `address`: if absent, all addresses of the machine, as for node ports. */
export function createHealthCheckPorts(log: Logger, address?: string): HealthCheckPorts {
  const servers = new Map<number, Server>();
  return {
    open: (port, answer) => {
      const server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS }, (request, response) => {
        const { status, headers, body }: HealthAnswer = answer();
        request.resume();
        response.writeHead(status, { ...headers, Connection: 'close' }).end(body);
      });
      server.maxConnections = MAX_CONNECTIONS;
      server.on('error', (error) => {
        log.error('unable to listen on the health check port of a service', { port, error: errorMessage(error) });
        if (servers.get(port) === server) servers.delete(port);
      });
      servers.set(port, server);
      server.listen(port, address);
    },
    isOpen: (port) => servers.has(port),
    close: (port) => {
      const server = servers.get(port);
      servers.delete(port);
      server?.close();
      server?.closeAllConnections();
    },
  };
}
