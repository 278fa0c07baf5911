/** The manifests of `packaging/kubernetes/`, as far as tests compare them with the programs. */
import { parse } from "yaml";
import { readFile } from "./tree.ts";

/** Folder of the manifests. */
export const KUBERNETES = "packaging/kubernetes";

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

/** A container of a pod. */
export interface Container {
  readonly name: string;
  readonly args: readonly string[];
  readonly restartPolicy?: string;
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly securityContext: unknown;
  readonly volumeMounts: readonly {
    readonly name: string;
    readonly mountPath: string;
    readonly readOnly?: boolean;
  }[];
}

/** The StatefulSet of a program. */
export interface StatefulSet {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly replicas: number;
    readonly podManagementPolicy: string;
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: {
        readonly automountServiceAccountToken: boolean;
        readonly terminationGracePeriodSeconds: number;
        readonly securityContext: unknown;
        readonly initContainers: readonly Container[];
        readonly containers: readonly Container[];
        readonly volumes: readonly {
          readonly name: string;
          readonly secret?: { readonly defaultMode: number };
        }[];
      };
    };
  };
}

/** What scrapes both programs. */
export interface PodMonitor {
  readonly spec: {
    readonly jobLabel: string;
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly podMetricsEndpoints: readonly { readonly port: string; readonly path: string }[];
  };
}

/** Reads a file of the manifests as what the caller knows it to be. */
export async function readManifest<T = unknown>(path: string): Promise<T> {
  return parse(await readFile(`${KUBERNETES}/${path}`));
}
