{{- /* Truncates: (list TEXT LENGTH). Removes trailing characters that are invalid at the end of names and labels. */}}
{{- define "ipu-operator.cut" -}}
{{- regexReplaceAll "[-_.]+$" (trunc (last . | int) (first .)) "" -}}
{{- end -}}

{{- define "ipu-operator.name" -}}
{{- include "ipu-operator.cut" (list (default .Chart.Name .Values.nameOverride) 63) -}}
{{- end -}}

{{- /* At most 36 characters: the longest derived name, <fullname>-controller-manager-metrics, is a Service name, limited to 63.
Unlike release names, Service names start with a letter and have no dot: _validate.tpl checks that. */}}
{{- define "ipu-operator.fullname" -}}
{{- $name := include "ipu-operator.name" . -}}
{{- $long := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- include "ipu-operator.cut" (list (.Values.fullnameOverride | default $long) 36) -}}
{{- end -}}

{{- /* Names of cluster-scoped objects include the namespace, so that two installations do not collide. */}}
{{- define "ipu-operator.clusterName" -}}
{{- printf "%s-%s-controller" .Release.Namespace (include "ipu-operator.fullname" .) -}}
{{- end -}}

{{- /* cert-manager's Secret with the webhook certificate. */}}
{{- define "ipu-operator.admissionGiven" -}}
{{- include "ipu-operator.admission" . }}-certificate
{{- end -}}

{{- /* Host names under which the API server calls the webhooks. */}}
{{- define "ipu-operator.admissionHosts" -}}
{{- $service := printf "%s-webhook-svc" (include "ipu-operator.fullname" .) -}}
{{ $service }}.{{ .Release.Namespace }}.svc,{{ $service }}.{{ .Release.Namespace }},{{ $service }}
{{- end -}}

{{- /* Name of both webhook configurations and of the Secret with their certificate. */}}
{{- define "ipu-operator.admission" -}}
{{- include "ipu-operator.fullname" . }}-admission
{{- end -}}

{{- /* toYaml quotes names that YAML would read as numbers or booleans. */}}
{{- define "ipu-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "ipu-operator.name" .root | toYaml }}
app.kubernetes.io/instance: {{ .root.Release.Name | toYaml }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "ipu-operator.labels" -}}
helm.sh/chart: {{ include "ipu-operator.cut" (list (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_") 63) }}
{{ include "ipu-operator.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/part-of: ipu-operator
{{- end -}}

{{- /* The labels, and the user's from {more}, which may override them: no selector uses these. */}}
{{- define "ipu-operator.labelsAnd" -}}
{{- mustMergeOverwrite (include "ipu-operator.labels" . | fromYaml) (.more | default dict) | toYaml -}}
{{- end -}}

{{- define "ipu-operator.serviceAccountName" -}}
{{- if .Values.controller.serviceAccount.name -}}
{{- .Values.controller.serviceAccount.name -}}
{{- else if .Values.controller.serviceAccount.create -}}
{{- include "ipu-operator.fullname" . }}-controller
{{- else -}}
default
{{- end -}}
{{- end -}}

{{- define "ipu-operator.registry" -}}
{{- with .Values.global.imageRegistry }}{{ trimSuffix "/" . }}/{{ end -}}
{{- end -}}

{{- /* {root, image}. Values files of the vendor's chart may name the vendor's images, its default:
replace them by this project's images. */}}
{{- define "ipu-operator.image" -}}
{{ include "ipu-operator.registry" .root }}{{ ternary "ipu-operator/ipu-operator" .image.repository (eq .image.repository "graphcore/ipu-operator-controller") }}:{{ .image.tag | default .root.Chart.AppVersion }}
{{- end -}}

{{- /* Likewise, "Always" with the vendor's image is the default of the vendor's chart. A node may have this project's image
without a registry to pull from. */}}
{{- define "ipu-operator.pullPolicy" -}}
{{- $vendors := and (eq .repository "graphcore/ipu-operator-controller") (eq .pullPolicy "Always") -}}
{{- ternary "IfNotPresent" .pullPolicy $vendors -}}
{{- end -}}

{{- define "ipu-operator.launcherImage" -}}
{{- with .Values.global -}}
{{ include "ipu-operator.registry" $ }}{{ ternary "ipu-operator/ipu-launch" .launcherImage (eq .launcherImage "graphcore/ipu-operator-launcher") }}:{{ .launcherImageTag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- /* The pod of `helm test`. */}}
{{- define "ipu-operator.selfCheck" -}}
{{- include "ipu-operator.fullname" . }}-self-check
{{- end -}}

{{- define "ipu-operator.vipuServerHost" -}}
{{- printf "%s-vipu-server.%s.svc" (include "ipu-operator.fullname" .) .Release.Namespace -}}
{{- end -}}

{{- /* The ConfigMap with the run times of past jobs. */}}
{{- define "ipu-operator.history" -}}
{{ include "ipu-operator.fullname" . }}-history
{{- end -}}

{{- /* The Service of the progress server, and the Secret of its certificate. */}}
{{- define "ipu-operator.progress" -}}
{{ include "ipu-operator.fullname" . }}-progress
{{- end -}}

{{- /* The Service of the live page. */}}
{{- define "ipu-operator.livePage" -}}
{{ include "ipu-operator.fullname" . }}-live-page
{{- end -}}

{{- /* The Secret with the keys that the operator creates for the simulated controller; empty if it creates none. */}}
{{- define "ipu-operator.vipuKeysSecret" -}}
{{- if and .Values.vipuServer.enabled .Values.vipuServer.secureMode }}{{ include "ipu-operator.fullname" . }}-vipu-keys{{ end -}}
{{- end -}}

{{- /* Not empty if the simulated controller speaks TLS. */}}
{{- define "ipu-operator.vipuServerTls" -}}
{{- if or .Values.vipuServer.secureMode (hasKey .Values.vipuServer.config "tls") }}yes{{ end -}}
{{- end -}}

{{- /* One cluster of IPU-Link domains with 64 IPUs each, 4 per agent. In secure mode the operator is the only user, with all
allocations. */}}
{{- define "ipu-operator.vipuServerConfig" -}}
{{- $ipus := int .Values.vipuServer.ipus -}}
{{- $cluster := dict "id" "cl1" "ipulink-domains" (div $ipus 64 | max 1) "agents" (div $ipus 4) -}}
{{- $config := merge (deepCopy .Values.vipuServer.config) (dict "clusters" (list $cluster)) -}}
{{- if .Values.vipuServer.secureMode -}}
{{- $allocations := list -}}
{{- range $config.clusters -}}
{{- $allocations = append $allocations .id -}}
{{- range .allocations }}{{ $allocations = append $allocations .id }}{{ end -}}
{{- end -}}
{{- $keys := "/etc/vipu-server-keys" -}}
{{- $user := dict "id" "operator" "access-key-file" (printf "%s/access-key" $keys) "allocations" $allocations -}}
{{- $tls := dict "certificate" (printf "%s/tls.crt" $keys) "key" (printf "%s/tls.key" $keys) -}}
{{- $config = merge $config (dict "secure" true "users" (list $user) "tls" $tls) -}}
{{- end -}}
{{- $config | toYaml -}}
{{- end -}}

{{- /* A number for each namespace, in the operator's format. */}}
{{- define "ipu-operator.namespaceNumbers" -}}
{{- $list := list -}}
{{- range $namespace, $number := . }}{{ $list = append $list (printf "%s=%d" $namespace (int $number)) }}{{ end -}}
{{- $list | join "," -}}
{{- end -}}

{{- /* The V-IPU controllers in the operator's format; empty if none is configured. */}}
{{- define "ipu-operator.vipuControllers" -}}
{{- $controllers := list -}}
{{- if kindIs "string" .Values.global.vipuControllers -}}
{{- range splitList "," .Values.global.vipuControllers -}}
{{- with trim . -}}
{{- $controllers = append $controllers . -}}
{{- end -}}
{{- end -}}
{{- else -}}
{{- $controllers = .Values.global.vipuControllers | default list -}}
{{- end -}}
{{- if .Values.vipuServer.enabled -}}
{{- $simulated := dict "host" (include "ipu-operator.vipuServerHost" .) "port" 8090 "selector" .Values.vipuServer.nodeLabel -}}
{{- with .Values.vipuServer.credentialsSecret | default (include "ipu-operator.vipuKeysSecret" .) -}}
{{- $_ := set $simulated "secretRef" (dict "name" .) -}}
{{- end -}}
{{- if include "ipu-operator.vipuServerTls" . }}{{ $_ := set $simulated "tls" true }}{{ end -}}
{{- $controllers = append $controllers $simulated -}}
{{- end -}}
{{- with $controllers }}{{ toYaml . }}{{ end -}}
{{- end -}}

{{- /* The V-IPU controllers, other than the simulated one, for which the operator has no credentials. */}}
{{- define "ipu-operator.controllersWithoutSecret" -}}
{{- $names := list -}}
{{- range include "ipu-operator.vipuControllers" . | fromYamlArray -}}
{{- if kindIs "string" . -}}
{{- $names = append $names (regexFind "^(\\[[^\\]]*\\]|[^:]*)(:[0-9]+)?" .) -}}
{{- else if not (or .secretRef (eq .host (include "ipu-operator.vipuServerHost" $))) -}}
{{- $names = append $names .host -}}
{{- end -}}
{{- end -}}
{{- $names | toJson -}}
{{- end -}}

{{- /* The distinct node labels (label=value) of the V-IPU controllers; "" for one without. */}}
{{- define "ipu-operator.podNodes" -}}
{{- $selectors := list -}}
{{- range include "ipu-operator.vipuControllers" . | fromYamlArray -}}
{{- $selector := "" -}}
{{- if kindIs "map" . -}}
{{- $selector = .selector | default "" -}}
{{- else -}}
{{- $selector = regexFind "[^:]+=[^:]*$" . -}}
{{- end -}}
{{- $selectors = append $selectors $selector -}}
{{- end -}}
{{- uniq $selectors | toJson -}}
{{- end -}}

{{- define "ipu-operator.nodeSelectors" -}}
{{- include "ipu-operator.podNodes" . | fromJsonArray | compact | toJson -}}
{{- end -}}

{{- /* Secrets of V-IPU controllers as sources of one volume: a directory for each, only with the keys that the operator reads.
Optional, so that a missing Secret does not block the pod. */}}
{{- define "ipu-operator.credentials" -}}
{{- $sources := list -}}
{{- $names := list -}}
{{- range include "ipu-operator.vipuControllers" . | fromYamlArray -}}
{{- if kindIs "map" . }}{{ with .secretRef }}{{ $names = append $names .name }}{{ end }}{{ end -}}
{{- end -}}
{{- range $name := uniq $names -}}
{{- $items := list -}}
{{- range list "user-id" "access-key" "ca.crt" "client.crt" "client.key" "job-user-id" "job-access-key" "partition-secret" -}}
{{- $items = append $items (dict "key" . "path" (printf "%s/%s" $name .)) -}}
{{- end -}}
{{- $sources = append $sources (dict "secret" (dict "name" $name "optional" true "items" $items)) -}}
{{- end -}}
{{- with $sources }}{{ toYaml . }}{{ end -}}
{{- end -}}

{{- /* Hook annotations of the objects that update the CustomResourceDefinition, in the order of their weights; all are deleted. */}}
{{- define "ipu-operator.crdHook" -}}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-weight: {{ quote . }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
