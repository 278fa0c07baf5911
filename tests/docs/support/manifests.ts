/** The manifests of `packaging/kubernetes/`, as far as tests compare them with the programs. */
import { parse } from "yaml";
import * as z from "zod";
import { readFile } from "./tree.ts";

/** Folder of the manifests. */
export const KUBERNETES = "packaging/kubernetes";

const probe = z.object({ httpGet: z.object({ path: z.string(), port: z.string() }) });

const container = z.object({
  name: z.string(),
  image: z.string(),
  args: z.array(z.string()),
  ports: z.array(z.object({ name: z.string(), containerPort: z.number() })).default([]),
  startupProbe: probe.optional(),
  livenessProbe: probe.optional(),
  readinessProbe: probe.optional(),
  securityContext: z.object({
    allowPrivilegeEscalation: z.boolean(),
    readOnlyRootFilesystem: z.boolean(),
    capabilities: z.object({ drop: z.array(z.string()) }),
  }),
  volumeMounts: z.array(
    z.object({ name: z.string(), mountPath: z.string(), readOnly: z.boolean().default(false) }),
  ),
});

const podSpec = z.object({
  automountServiceAccountToken: z.boolean(),
  terminationGracePeriodSeconds: z.number(),
  securityContext: z.object({
    runAsNonRoot: z.boolean(),
    runAsUser: z.number(),
    runAsGroup: z.number(),
    fsGroup: z.number(),
    seccompProfile: z.object({ type: z.string() }),
  }),
  containers: z.array(container),
  volumes: z.array(
    z.object({
      name: z.string(),
      configMap: z.object({ name: z.string() }).optional(),
      secret: z.object({ secretName: z.string(), defaultMode: z.number() }).optional(),
    }),
  ),
});

const labels = z.record(z.string(), z.string());

const statefulSet = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.object({
    replicas: z.number(),
    podManagementPolicy: z.string(),
    template: z.object({ metadata: z.object({ labels }), spec: podSpec }),
  }),
});

const podMonitor = z.object({
  spec: z.object({
    jobLabel: z.string(),
    selector: z.object({ matchLabels: labels }),
    podMetricsEndpoints: z.array(z.object({ port: z.string(), path: z.string() })),
  }),
});

const litestreamPatch = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.object({
    template: z.object({
      spec: z.object({
        terminationGracePeriodSeconds: z.number(),
        initContainers: z.array(container.extend({ restartPolicy: z.string().optional() })),
      }),
    }),
  }),
});

/** A container of a pod. */
export type Container = z.infer<typeof container>;

/** A StatefulSet of one of the programs. */
export type StatefulSet = z.infer<typeof statefulSet>;

/** What Litestream adds to the StatefulSet of the messaging relayer. */
export type LitestreamPatch = z.infer<typeof litestreamPatch>;

/** Reads a file of the manifests. */
export async function readManifest(path: string): Promise<unknown> {
  return parse(await readFile(`${KUBERNETES}/${path}`));
}

/** The StatefulSet of a program. */
export async function readStatefulSet(program: string): Promise<StatefulSet> {
  return statefulSet.parse(await readManifest(`${program}/stateful_set.yaml`));
}

/** The PodMonitor of both programs. */
export async function readPodMonitor(): Promise<z.infer<typeof podMonitor>> {
  return podMonitor.parse(await readManifest("monitoring/pod_monitor.yaml"));
}

/** The patch of the Litestream component. */
export async function readLitestreamPatch(): Promise<LitestreamPatch> {
  return litestreamPatch.parse(await readManifest("litestream/stateful_set.yaml"));
}
