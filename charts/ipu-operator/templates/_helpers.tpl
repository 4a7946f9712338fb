{{- /* A text cut to a length, (list TEXT LENGTH), without what no name and no label may end in. */}}
{{- define "ipu-operator.cut" -}}
{{- regexReplaceAll "[-_.]+$" (trunc (last . | int) (first .)) "" -}}
{{- end -}}

{{- define "ipu-operator.name" -}}
{{- include "ipu-operator.cut" (list (default .Chart.Name .Values.nameOverride) 63) -}}
{{- end -}}

{{- /* Kept to 36 characters: the longest name made from it, <fullname>-controller-manager-metrics, is a Service, which may have 63.
The names of Services begin with a letter and have no dot, unlike those of releases: _validate.tpl holds it to that. */}}
{{- define "ipu-operator.fullname" -}}
{{- $name := include "ipu-operator.name" . -}}
{{- $long := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- include "ipu-operator.cut" (list (.Values.fullnameOverride | default $long) 36) -}}
{{- end -}}

{{- /* Objects without a namespace carry it in their name, so that two installations do not collide. */}}
{{- define "ipu-operator.clusterName" -}}
{{- printf "%s-%s-controller" .Release.Namespace (include "ipu-operator.fullname" .) -}}
{{- end -}}

{{- /* The Secret in which cert-manager keeps the webhooks' certificate. */}}
{{- define "ipu-operator.admissionGiven" -}}
{{- include "ipu-operator.admission" . }}-certificate
{{- end -}}

{{- /* By which names the API server reaches the webhooks. */}}
{{- define "ipu-operator.admissionHosts" -}}
{{- $service := printf "%s-webhook-svc" (include "ipu-operator.fullname" .) -}}
{{ $service }}.{{ .Release.Namespace }}.svc,{{ $service }}.{{ .Release.Namespace }},{{ $service }}
{{- end -}}

{{- /* Both webhook configurations and the Secret with their certificate. */}}
{{- define "ipu-operator.admission" -}}
{{- include "ipu-operator.fullname" . }}-admission
{{- end -}}

{{- /* Names may look like numbers and the like to YAML: here and elsewhere toYaml puts those in quotes. */}}
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

{{- /* And a user's of {more}, which may replace them: nothing is found by these. */}}
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

{{- /* Of what has an image: {root, image}. An old values file may name the vendor's images, as its chart did by default:
this project's stand in for them. */}}
{{- define "ipu-operator.image" -}}
{{ include "ipu-operator.registry" .root }}{{ ternary "ipu-operator/ipu-operator" .image.repository (eq .image.repository "graphcore/ipu-operator-controller") }}:{{ .image.tag | default .root.Chart.AppVersion }}
{{- end -}}

{{- /* As with the name: "Always" beside the vendor's image is its chart's default, and a node that has this project's image may have
no registry to ask for it. */}}
{{- define "ipu-operator.pullPolicy" -}}
{{- $vendors := and (eq .repository "graphcore/ipu-operator-controller") (eq .pullPolicy "Always") -}}
{{- ternary "IfNotPresent" .pullPolicy $vendors -}}
{{- end -}}

{{- define "ipu-operator.launcherImage" -}}
{{- with .Values.global -}}
{{ include "ipu-operator.registry" $ }}{{ ternary "ipu-operator/ipu-launch" .launcherImage (eq .launcherImage "graphcore/ipu-operator-launcher") }}:{{ .launcherImageTag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "ipu-operator.vipuServerHost" -}}
{{- printf "%s-vipu-server.%s.svc" (include "ipu-operator.fullname" .) .Release.Namespace -}}
{{- end -}}

{{- /* One cluster of IPU-Link domains with 64 IPUs each, 4 to an agent. */}}
{{- define "ipu-operator.vipuServerConfig" -}}
{{- $ipus := int .Values.vipuServer.ipus -}}
{{- $cluster := dict "id" "cl1" "ipulink-domains" (div $ipus 64 | max 1) "agents" (div $ipus 4) -}}
{{- merge (deepCopy .Values.vipuServer.config) (dict "clusters" (list $cluster)) | toYaml -}}
{{- end -}}

{{- /* The V-IPU controllers as the operator reads them; nothing when there are none. */}}
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
{{- with .Values.vipuServer.credentialsSecret }}{{ $_ := set $simulated "secretRef" (dict "name" .) }}{{ end -}}
{{- if hasKey .Values.vipuServer.config "tls" }}{{ $_ := set $simulated "tls" true }}{{ end -}}
{{- $controllers = append $controllers $simulated -}}
{{- end -}}
{{- with $controllers }}{{ toYaml . }}{{ end -}}
{{- end -}}

{{- /* The labels=values of the nodes that the V-IPU controllers serve, each once. */}}
{{- define "ipu-operator.nodeSelectors" -}}
{{- $selectors := list -}}
{{- range include "ipu-operator.vipuControllers" . | fromYamlArray -}}
{{- $selector := "" -}}
{{- if kindIs "map" . -}}
{{- $selector = .selector | default "" -}}
{{- else -}}
{{- $selector = regexFind "[^:]+=[^:]*$" . -}}
{{- end -}}
{{- with $selector }}{{ $selectors = append $selectors . }}{{ end -}}
{{- end -}}
{{- uniq $selectors | toJson -}}
{{- end -}}

{{- /* The Secrets of V-IPU controllers as sources of one volume: a folder for each, with no more than the operator reads. A Secret
that is not there yet keeps no pod from starting. */}}
{{- define "ipu-operator.credentials" -}}
{{- $sources := list -}}
{{- $names := list -}}
{{- range include "ipu-operator.vipuControllers" . | fromYamlArray -}}
{{- if kindIs "map" . }}{{ with .secretRef }}{{ $names = append $names .name }}{{ end }}{{ end -}}
{{- end -}}
{{- range $name := uniq $names -}}
{{- $items := list -}}
{{- range list "user-id" "access-key" "ca.crt" "job-user-id" "job-access-key" -}}
{{- $items = append $items (dict "key" . "path" (printf "%s/%s" $name .)) -}}
{{- end -}}
{{- $sources = append $sources (dict "secret" (dict "name" $name "optional" true "items" $items)) -}}
{{- end -}}
{{- with $sources }}{{ toYaml . }}{{ end -}}
{{- end -}}

{{- /* Of the objects that bring the definition of IPUJobs up to date, in the order of their weights; none stays. */}}
{{- define "ipu-operator.crdHook" -}}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-weight: {{ quote . }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
