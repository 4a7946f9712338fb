{{- /* Checks of the values beyond their schema: one line for each error, so that all are reported at once. */}}
{{- define "ipu-operator.validateValues" -}}
{{- include "ipu-operator.invalidVendorValues" . -}}
{{- include "ipu-operator.invalidGlobals" . -}}
{{- include "ipu-operator.invalidNames" . -}}
{{- include "ipu-operator.invalidImages" . -}}
{{- include "ipu-operator.invalidControllers" . -}}
{{- include "ipu-operator.invalidPodFields" . -}}
{{- include "ipu-operator.invalidArguments" . -}}
{{- include "ipu-operator.invalidNetworks" . -}}
{{- include "ipu-operator.invalidPorts" . -}}
{{- include "ipu-operator.invalidNamespaced" . -}}
{{- include "ipu-operator.invalidIdle" . -}}
{{- include "ipu-operator.invalidSecond" . -}}
{{- include "ipu-operator.invalidMove" . -}}
{{- include "ipu-operator.invalidSecureMode" . -}}
{{- end -}}

{{- /* Rejects values of the vendor's chart that have no effect here, unless they are empty or at the vendor's default. */}}
{{- define "ipu-operator.invalidVendorValues" -}}
{{- range $row := .Files.Get "vendor-values.yaml" | fromYamlArray -}}
{{- $given := $.Values -}}
{{- $asked := not (empty $row.rejected) -}}
{{- range $key := splitList "." $row.value -}}
{{- $asked = and $asked (kindIs "map" $given) (hasKey $given $key) -}}
{{- if $asked }}{{ $given = get $given $key }}{{ end -}}
{{- end -}}
{{- if and $asked (not (kindIs "invalid" $given)) (not (and (hasKey $row "vendor") (eq (toJson $row.vendor) (toJson $given)))) }}
  {{ $row.value }}: {{ $row.rejected }}{{ with $row.use }}; use {{ . }}{{ end }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* A subchart gets the globals of all charts, so only a root chart rejects unknown ones. */}}
{{- define "ipu-operator.invalidGlobals" -}}
{{- $known := list "imageRegistry" "imagePullSecrets" "kubectlVersion" "laucherImagePullPolicy" "launcherImage"
  "launcherImagePullPolicy" "launcherImageTag" "vipuControllers" -}}
{{- if .Chart.IsRoot -}}
{{- range $key := keys .Values.global | sortAlpha -}}
{{- if not (has $key $known) }}
  global.{{ $key }}: unknown value
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Release name and nameOverride, the default full name, may be invalid as Service names. */}}
{{- define "ipu-operator.invalidNames" -}}
{{- $name := include "ipu-operator.fullname" . -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) }}
  fullnameOverride: {{ quote $name }} is not a valid prefix for Service names: use lower case letters, digits and "-", beginning with a letter
{{- end -}}
{{- end -}}

{{- /* Rejects the vendor's images, which do not work with this chart, and tags of the vendor's versions, which chart 1.1.0 set by
default. Other images and tags are the user's choice. */}}
{{- define "ipu-operator.invalidImages" -}}
{{- $controller := .Values.controller.image -}}
{{- range $row := list
  (list "controller.image.repository" $controller.repository "controller.image.tag" ($controller.tag | default ""))
  (list "global.launcherImage" .Values.global.launcherImage "global.launcherImageTag" (.Values.global.launcherImageTag | default "")) -}}
{{- $vendors := regexMatch "(^|/)ipu-operator-(controller|launcher|vipu-proxy)$" (index $row 1) -}}
{{- $version := and (regexMatch "^1\\.[12]\\.0(-p[0-9]+)?(@|$)" (index $row 3)) (ne (index $row 3) $.Chart.AppVersion) -}}
{{- if and $vendors (not (hasPrefix "graphcore/" (index $row 1))) }}
  {{ index $row 0 }}: {{ index $row 1 }} is the vendor's image, which does not work with this chart; remove it, or use a copy of this project's image
{{- else if or (and $vendors (index $row 3)) (and $version (hasPrefix "ipu-operator/" (index $row 1))) }}
  {{ index $row 2 }}: {{ index $row 3 }} is a version of the vendor's image; remove it
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Checks each controller of a string, and reports duplicates in strings and lists. */}}
{{- define "ipu-operator.invalidControllers" -}}
{{- $label := "([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?=([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?" -}}
{{- $port := "[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]" -}}
{{- $seen := dict -}}
{{- range include "ipu-operator.vipuControllers" . | fromYamlArray -}}
{{- $name := "" -}}
{{- if kindIs "map" . -}}
{{- $name = printf "%s:%d" .host (.port | default 8090 | int) -}}
{{- if not (regexMatch "^([^:]+|[0-9a-fA-F]*(:[0-9a-fA-F.]*){2,}(%.+)?)$" .host) }}
  global.vipuControllers: {{ quote .host }} must be a host name without port; set port
{{- end -}}
{{- else if regexMatch (printf "^(\\[[A-Za-z0-9._:%%-]+\\]|[A-Za-z0-9._%%-]+)(:(%s))?(:(%s))?$" $port $label) . -}}
{{- $host := regexFind "^(\\[[^\\]]+\\]|[^:]+)" . -}}
{{- $name = printf "%s:%d" (trimAll "[]" $host) (regexFind "^:[0-9]+" (trimPrefix $host .) | trimPrefix ":" | default "8090" | int) -}}
{{- else }}
  global.vipuControllers: {{ quote . }} is not host:port:label=value
{{- end -}}
{{- if and $name (hasKey $seen $name) }}
  global.vipuControllers: {{ $name }} is a duplicate; list each controller once, with a label that all of its nodes have
{{- end -}}
{{- $_ := set $seen $name true -}}
{{- end -}}
{{- end -}}

{{- /* The operator's own secure mode would override another one, or be overridden by it. */}}
{{- define "ipu-operator.invalidSecureMode" -}}
{{- if and .Values.vipuServer.enabled .Values.vipuServer.secureMode -}}
{{- range $key := list "secure" "tls" "users" -}}
{{- if hasKey $.Values.vipuServer.config $key }}
  vipuServer.config.{{ $key }}: vipuServer.secureMode sets it; remove it, or set vipuServer.secureMode=false to set up secure mode yourself
{{- end -}}
{{- end -}}
{{- if .Values.vipuServer.credentialsSecret }}
  vipuServer.credentialsSecret: vipuServer.secureMode creates the credentials; remove it, or set vipuServer.secureMode=false to set up secure mode yourself
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* The vendor's chart applied controller.securityContext to the pod. */}}
{{- define "ipu-operator.invalidPodFields" -}}
{{- range $field := keys (.Values.controller.securityContext | default dict) | sortAlpha -}}
{{- if has $field (list "fsGroup" "fsGroupChangePolicy" "seLinuxChangePolicy" "supplementalGroups" "supplementalGroupsPolicy" "sysctls") }}
  controller.securityContext.{{ $field }}: is a field of pods, not of containers; use controller.podSecurityContext.{{ $field }}
{{- end -}}
{{- end -}}
{{- $own := include "ipu-operator.labels" (dict "root" . "component" "controller-manager") | fromYaml -}}
{{- range $label := keys (.Values.controller.podLabels | default dict) | sortAlpha -}}
{{- if or (hasKey $own $label) (eq $label "control-plane") }}
  controller.podLabels: {{ $label }} is a label that the chart sets; remove it
{{- end -}}
{{- end -}}
{{- range $part, $annotations := dict "controller" (list "kubectl.kubernetes.io/default-container" "checksum/controllers") "vipuServer" (list "checksum/config") -}}
{{- range $annotation := $annotations -}}
{{- if hasKey ((get $.Values $part).podAnnotations | default dict) $annotation }}
  {{ $part }}.podAnnotations: {{ $annotation }} is an annotation that the chart sets; remove it
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Arguments that the chart sets must match other objects; extraArgs come last and would override them in the operator only. */}}
{{- define "ipu-operator.invalidArguments" -}}
{{- $values := dict "config" "global.vipuControllers" "credentials" "global.vipuControllers" "namespace" "" "health-port" ""
  "watch-namespace" "controller.watchNamespace" "lease-name" "fullnameOverride" "partition-prefix" "controller.partitionPrefix"
  "queue-priority-classes" "queue.priorityClasses" "queue-max-waiting-instances" "queue.maxWaitingInstances"
  "queue-max-waiting-instances-per-namespace" "queue.maxWaitingInstancesPerNamespace" "queue-quotas" "queue.quotas"
  "queue-instance-quotas" "queue.instanceQuotas"
  "queue-share-half-life-seconds" "queue.shareHalfLifeSeconds" "queue-share-weights" "queue.shareWeights" "queue-guard-after-seconds" "queue.guardAfterSeconds"
  "queue-policy" "queue.policy" "queue-reservations" "queue.reservations"
  "queue-close-after-seconds" "queue.closeAfterSeconds" "queue-max-slide-seconds" "queue.maxSlideSeconds"
  "queue-preemption" "queue.preemption" "queue-preemption-exempt-seconds" "queue.preemptionExemptSeconds" "hold-seconds" "controller.holdSeconds" "requeue-seconds" "controller.requeueSeconds"
  "partition-failure-seconds" "controller.partitionFailureSeconds" "log-level" "controller.logLevel"
  "log-format" "controller.logFormat" "launcher-image" "global.launcherImage"
  "launcher-pull-policy" "global.launcherImagePullPolicy" "pull-secrets" "global.imagePullSecrets"
  "host-network" "worker.hostNetwork" "network-policy" "worker.networkPolicy" "mpi-network" "worker.mpiNetwork"
  "metrics" "metrics.mode" "metrics-port" "" "metrics-hosts" "" "metrics-certificate" "metrics.certificateSecret"
  "live-page" "livePage.hosts" "live-page-certificate" "livePage.certificateSecret" "live-page-port" "" "history" "" "progress" "progress.enabled" "progress-hosts" "" "progress-port" ""
  "admission" "admissionWebhooks.enabled" "admission-port" "admissionWebhooks.port" "admission-hosts" ""
  "admission-certificate" "admissionWebhooks.certManager" "vipu-controllers-visibility" "vipuControllers.visibility"
  "hide-vipu-controller-addresses" "vipuControllers.hideAddresses" -}}
{{- range .Values.controller.extraArgs -}}
{{- $flag := regexFind "^--[a-z-]+" . -}}
{{- $name := trimPrefix "--" $flag -}}
{{- if hasKey $values $name }}
  controller.extraArgs: {{ $flag }} is set by the chart; {{ with get $values $name }}use {{ . }}{{ else }}remove it{{ end }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "ipu-operator.isNetwork" -}}
{{- $byte := "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])" -}}
{{- $v4 := printf "(%s\\.){3}%s/(3[0-2]|[12]?[0-9])" $byte $byte -}}
{{- $v6 := "[0-9a-fA-F]{0,4}(:[0-9a-fA-F]{0,4}){2,7}/(12[0-8]|1[01][0-9]|[1-9]?[0-9])" -}}
{{- if regexMatch (printf "^(%s|%s)$" $v4 $v6) . }}yes{{ end -}}
{{- end -}}

{{- /* Open MPI accepts several, separated by commas. */}}
{{- define "ipu-operator.invalidNetworks" -}}
{{- range .Values.networkPolicy.nodeNetworks -}}
{{- if not (include "ipu-operator.isNetwork" .) }}
  networkPolicy.nodeNetworks: {{ quote . }} must be a CIDR such as 10.0.0.0/16
{{- end -}}
{{- end -}}
{{- with .Values.worker.mpiNetwork -}}
{{- range splitList "," . -}}
{{- if not (or (include "ipu-operator.isNetwork" .) (regexMatch "^[0-9_.-]*[A-Za-z][A-Za-z0-9_.-]*$" .)) }}
  worker.mpiNetwork: {{ quote . }} must be a CIDR such as 10.0.0.0/8 or the name of an interface
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Ports that the operator's pod already uses. */}}
{{- define "ipu-operator.invalidPorts" -}}
{{- if .Values.admissionWebhooks.enabled -}}
{{- with get (dict "8081" "pages" "8443" "metrics" "8444" "reports of progress" "8445" "live page") (toString .Values.admissionWebhooks.port) }}
  admissionWebhooks.port: port {{ $.Values.admissionWebhooks.port }} is used for the {{ . }} of the operator's pod; use another port
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Values that have no effect because another value is off. */}}
{{- define "ipu-operator.invalidIdle" -}}
{{- $metrics := include "ipu-operator.metricsMode" . -}}
{{- if eq $metrics "off" -}}
{{- $why := ternary "with controller.watchNamespace, metrics need metrics.mode=plain" "has no effect with metrics.mode=off" (eq (toString .Values.metrics.mode) "secure") -}}
{{- range $value := list "serviceMonitor" "prometheusRule" "dashboard" -}}
{{- if (get $.Values.metrics $value).enabled }}
  metrics.{{ $value }}.enabled: {{ $why }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and .Values.admissionWebhooks.certManager.enabled (not .Values.admissionWebhooks.enabled) }}
  admissionWebhooks.certManager.enabled: has no effect without admissionWebhooks.enabled
{{- end -}}
{{- if and .Values.priorityClass.create (ne (include "ipu-operator.priorityClassName" .) (include "ipu-operator.clusterName" .)) }}
  priorityClass.create: has no effect when controller.priorityClassName is set ({{ .Values.controller.priorityClassName }}); unset one of them
{{- end -}}
{{- if and .Values.uninstall.drain (not .Values.uninstall.check) }}
  uninstall.drain: has no effect without uninstall.check
{{- end -}}
{{- end -}}

{{- /* The name of the release whose operator an object belongs to, or empty. */}}
{{- define "ipu-operator.releaseOf" -}}
{{- $labels := .metadata.labels | default dict -}}
{{- if and (eq (get $labels "app.kubernetes.io/part-of") "ipu-operator") (eq (get $labels "app.kubernetes.io/component") "controller-manager") -}}
{{- get $labels "app.kubernetes.io/instance" -}}
{{- end -}}
{{- end -}}

{{- /* Two operators for one namespace would both run its jobs. Detected by the binding of the role for jobs; `helm template` has no
cluster to look in. An installation for one namespace may lack permission to look at others. */}}
{{- define "ipu-operator.invalidSecond" -}}
{{- $watched := .Values.controller.watchNamespace | default "" -}}
{{- $bindings := (lookup "rbac.authorization.k8s.io/v1" "RoleBinding" $watched "").items | default list -}}
{{- if not $watched -}}
{{- $bindings = concat $bindings ((lookup "rbac.authorization.k8s.io/v1" "ClusterRoleBinding" "" "").items | default list) -}}
{{- end -}}
{{- range $bindings -}}
{{- $release := include "ipu-operator.releaseOf" . -}}
{{- $theirs := .metadata.namespace | default "" -}}
{{- if and $release (or (not $theirs) (hasSuffix "-jobs" .metadata.name)) -}}
{{- $namespace := (first .subjects).namespace -}}
{{- if or (ne $release $.Release.Name) (ne $namespace $.Release.Namespace) }}
  controller.watchNamespace: release {{ $release }} in namespace {{ $namespace }} runs the jobs of {{ with $theirs }}namespace {{ . }}{{ else }}all namespaces{{ end }} already; uninstall that release first, or give each release its own namespace to watch
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* An operator owns all partition records in its namespace, so two cannot share one. After a change of watchNamespace, jobs in
other namespaces would keep their IPUs and finalizers. */}}
{{- define "ipu-operator.invalidMove" -}}
{{- $watched := .Values.controller.watchNamespace | default "" -}}
{{- range (lookup "apps/v1" "Deployment" .Release.Namespace "").items | default list -}}
{{- $release := include "ipu-operator.releaseOf" . -}}
{{- if $release -}}
{{- $was := "" -}}
{{- range (first .spec.template.spec.containers).args -}}
{{- if hasPrefix "--watch-namespace=" . }}{{ $was = trimPrefix "--watch-namespace=" . }}{{ end -}}
{{- end -}}
{{- if ne $release $.Release.Name }}
  namespace {{ $.Release.Namespace }}: release {{ $release }} is already installed here, and two operators in a namespace would use each other's partition records; use another namespace
{{- else if and $watched (ne $was $watched) }}
  controller.watchNamespace: this release runs the jobs of {{ with $was }}namespace {{ . }}{{ else }}all namespaces{{ end }}; this cannot be changed on upgrade, because jobs outside of {{ $watched }} would keep their IPUs. Uninstall the release and install it again
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Invalid namespaces, and values that need cluster-scoped objects, which controller.watchNamespace excludes. */}}
{{- define "ipu-operator.invalidNamespaced" -}}
{{- with .Values.controller.watchNamespace -}}
{{- if regexMatch "[,\\s]" . }}
  controller.watchNamespace: {{ quote . }} must be one namespace or empty. Install the chart once for each namespace, in separate namespaces, with different controller.partitionPrefix if they share a V-IPU controller
{{- else if not (regexMatch "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$" .) }}
  controller.watchNamespace: {{ quote . }} is not a valid namespace name
{{- end -}}
{{- end -}}
{{- if .Values.controller.watchNamespace -}}
{{- range $value, $asked := dict "admissionWebhooks.enabled" .Values.admissionWebhooks.enabled
  "flowSchema.enabled" .Values.flowSchema.enabled "livePage.enabled" .Values.livePage.enabled "priorityClass.create" .Values.priorityClass.create -}}
{{- if $asked }}
  {{ $value }}: not supported with controller.watchNamespace, which creates no objects outside of namespaces; disable it
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
