{{- define "burst.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- /* Short enough for all suffixes, including an invoker's number. */}}
{{- define "burst.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains (include "burst.name" .) .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "burst.name" .) | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- /* The selector of a part: (list . "controller"). Policies and the driver's packs are matched by the name. */}}
{{- define "burst.selector" -}}
app.kubernetes.io/name: burst-{{ index . 1 }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
{{- end }}

{{- define "burst.labels" -}}
{{- $root := index . 0 }}
{{- include "burst.selector" . }}
app.kubernetes.io/part-of: burst
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version }}
{{- with $root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* The reference of an image, from its values: (list . .Values.image). */}}
{{- define "burst.image" -}}
{{- $image := index . 1 }}
{{- if $image.digest }}
{{- printf "%s@%s" $image.repository $image.digest }}
{{- else }}
{{- printf "%s:%s" $image.repository (default (index . 0).Chart.AppVersion $image.tag) }}
{{- end }}
{{- end }}

{{- define "burst.headless" -}}
{{ include "burst.fullname" . }}-controllers
{{- end }}

{{- /* The URL of the API's Service inside the cluster. */}}
{{- define "burst.api" -}}
{{- printf "%s://%s.%s.svc:%v" (ternary "https" "http" (ne .Values.api.tls.existingSecret "")) (include "burst.fullname" .) .Release.Namespace .Values.api.service.port }}
{{- end }}

{{- define "burst.publicUrl" -}}
{{- if .Values.api.publicUrl }}
{{- .Values.api.publicUrl }}
{{- else if .Values.ingress.enabled }}
{{- printf "%s://%s" (ternary "https" "http" .Values.ingress.tls.enabled) .Values.ingress.host }}
{{- else }}
{{- include "burst.api" . }}
{{- end }}
{{- end }}

{{- /* The domain of controllers, which each of them finds in its own /etc/hosts before any name server has it. */}}
{{- define "burst.domain" -}}
{{- printf "%s.%s.svc.%s" (include "burst.headless" .) .Release.Namespace .Values.clusterDomain }}
{{- end }}

{{- define "burst.ownSecretsKey" -}}
{{- if and .Values.store.postgresql.url (not .Values.secretsKey.existingSecret) }}yes{{ end }}
{{- end }}

{{- define "burst.secretsKeySecret" -}}
{{- if .Values.secretsKey.existingSecret }}
{{- .Values.secretsKey.existingSecret }}
{{- else if include "burst.ownSecretsKey" . }}
{{- include "burst.fullname" . }}-secrets-key
{{- end }}
{{- end }}

{{- define "burst.podSecurity" -}}
runAsNonRoot: true
{{- with .Values.podSecurity.user }}
runAsUser: {{ int64 . }}
{{- end }}
{{- with .Values.podSecurity.group }}
runAsGroup: {{ int64 . }}
fsGroup: {{ int64 . }}
{{- end }}
# Keys that the platform creates are readable by its user only, and stay so when a volume is mounted again.
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "burst.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "burst.spread" -}}
{{- $root := index . 0 }}
{{- $part := index . 1 }}
{{- with $root.Values.topologySpread }}
{{- if .enabled }}
topologySpreadConstraints:
  {{- range $key := .topologyKeys }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: {{ $root.Values.topologySpread.whenUnsatisfiable }}
    labelSelector:
      matchLabels: {{- include "burst.selector" (list $root $part) | nindent 8 }}
  {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The credentials of nodes, in the volume `node`. Settings and not flags, which would resolve links to their
       current targets: certificates are reloaded, and the links then lead elsewhere. */}}
{{- define "burst.proof" -}}
{{- if .Values.nodeTls.existingSecret }}
burst.cluster.tls {
  key = "/etc/burst/node/tls.key"
  certificate = "/etc/burst/node/tls.crt"
  authority = "/etc/burst/node/ca.crt"
}
{{- else }}
burst.cluster.key = "/etc/burst/node/cluster.pem"
{{- end }}
{{- end }}

{{- define "burst.proofVolume" -}}
name: node
secret:
  {{- if .Values.nodeTls.existingSecret }}
  secretName: {{ .Values.nodeTls.existingSecret }}
  items:
    - {key: tls.key, path: tls.key}
    - {key: tls.crt, path: tls.crt}
    - {key: ca.crt, path: ca.crt}
  {{- else if .Values.clusterKey.existingSecret }}
  secretName: {{ .Values.clusterKey.existingSecret }}
  items: [{key: {{ .Values.clusterKey.key | quote }}, path: cluster.pem}]
  {{- else }}
  secretName: {{ include "burst.fullname" . }}-cluster-key
  items: [{key: cluster.pem, path: cluster.pem}]
  {{- end }}
  defaultMode: 0400
{{- end }}

{{- define "burst.seeds" -}}
{{- $seeds := list }}
{{- range until (int .Values.controller.replicas) }}
{{- $seeds = append $seeds (printf "%s-controller-%d.%s:2552" (include "burst.fullname" $) . (include "burst.domain" $)) }}
{{- end }}
{{- toJson $seeds }}
{{- end }}

{{- define "burst.controller.conf" -}}
# Generated by the chart. JSON is valid HOCON: values are written as JSON.
burst.cluster.seeds = {{ include "burst.seeds" . }}
{{- include "burst.proof" . }}
burst.http.public-url = {{ include "burst.publicUrl" . | toJson }}
{{- include "burst.traces" .Values.traces }}
{{- if .Values.ingress.enabled }}
# All clients connect through the Ingress.
burst.http.connections.per-client = ${burst.http.connections.limit}
{{- end }}
{{- if .Values.api.tls.existingSecret }}
burst.http.tls {
  certificate = "/etc/burst/api/tls.crt"
  key = "/etc/burst/api/tls.key"
}
{{- end }}
{{- with .Values.store }}
{{- if .postgresql.url }}
burst.store.postgresql.url = {{ .postgresql.url | toJson }}
{{- end }}
{{- if .s3.url }}
burst.store.s3 {
  url = {{ .s3.url | toJson }}
  endpoint = {{ .s3.endpoint | toJson }}
  region = {{ .s3.region | toJson }}
}
{{- end }}
{{- if .sharedDirectory.existingClaim }}
burst.store.directory = "/var/lib/burst-shared"
{{- end }}
{{- end }}
{{- range $index, $name := keys .Values.backends | sortAlpha }}
{{- $backend := get $.Values.backends $name }}
burst.backends.{{ $name | toJson }} {
  kind = {{ $backend.kind | toJson }}
  uri = ${BURST_BACKEND_{{ $index }}}
  {{- with $backend.ca }}
  ca = {{ printf "/etc/burst/ca/%s" . | toJson }}
  {{- end }}
  {{- if $backend.sharedCredentials }}
  shared-credentials = true
  {{- end }}
}
{{- end }}
burst.default-backend = {{ .Values.defaultBackend | toJson }}
{{- with .Values.controller.settings }}
{{- range $key, $value := . }}
{{ $key | toJson }}: {{ toJson $value }}
{{- end }}
{{- end }}
{{ end }}

{{- /* Whether slots follow the cluster's capacity: "yes" or nothing. */}}
{{- define "burst.followsCluster" -}}
{{- if eq (toString .Values.invoker.slots) "cluster" }}yes{{ end }}
{{- end }}

{{- define "burst.invoker.conf" -}}
# Generated by the chart. JSON is valid HOCON: values are written as JSON.
burst.cluster.seeds = {{ include "burst.seeds" . }}
{{- include "burst.proof" . }}
{{- include "burst.traces" .Values.traces }}
burst.invoker {
  slots = {{ ternary .Values.invoker.maxSlots .Values.invoker.slots (include "burst.followsCluster" . | eq "yes") }}
  prewarmed = {{ .Values.invoker.prewarmed }}
  packages.cache-size = {{ .Values.invoker.cacheSize | toJson }}
  {{- if .Values.invoker.metrics.enabled }}
  metrics { host = "0.0.0.0", port = 3234 }
  {{- end }}
  kubernetes {
    image = {{ include "burst.image" (list . .Values.runtime.image) | toJson }}
    {{- if include "burst.followsCluster" . }}
    follow-cluster = true
    slot-memory = {{ .Values.invoker.slotMemory }}
    {{- end }}
    cpus-per-worker = {{ .Values.invoker.cpusPerWorker }}
    scratch-size = {{ .Values.invoker.scratchSize }}
    start-timeout = {{ .Values.invoker.startTimeout | toJson }}
    group = {{ int64 .Values.invoker.users.group }}
    {{- if .Values.runtime.arch }}
    arch = {{ .Values.runtime.arch | toJson }}
    glibc = {{ .Values.runtime.glibc | toJson }}
    {{- end }}
  }
}
{{- with .Values.invoker.settings }}
{{- range $key, $value := . }}
{{ $key | toJson }}: {{ toJson $value }}
{{- end }}
{{- end }}
{{ end }}

{{- /* All logs go to the container's standard output. */}}
{{- define "burst.logback" -}}
<configuration>
  <appender name="STDOUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder class="burst.node.logs.LineEncoder">
      <format>{{ (index . 0).Values.logFormat }}</format>
      <pattern>%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} %-5level %logger{24} - %msg%replace( [%kvp{NONE}]){' \[\]$', ''}%n%ex</pattern>
    </encoder>
  </appender>
  <!-- Always logged, whatever the log level: who did what as an administrator. -->
  <logger name="burst.audit" level="INFO"/>
  <logger name="com.github.dockerjava" level="WARN"/>
  <logger name="org.apache.pekko.io.TcpListener" level="OFF"/>
  <logger name="org.apache.pekko.remote.artery" level="ERROR"/>
  <logger name="org.apache.pekko.remote.RemoteActorRefProvider" level="ERROR"/>
  <logger name="org.apache.pekko.stream.Materializer" level="ERROR"/>
  <root level="{{ index . 1 }}"><appender-ref ref="STDOUT"/></root>
</configuration>
{{ end }}

{{- define "burst.traces" -}}
{{- if .endpoint }}
burst.traces { endpoint = {{ .endpoint | toJson }}, ratio = {{ .ratio }} }
{{- end }}
{{- end }}

{{- /* Keeps the value that an earlier install has generated: (list . NAME KEY MADE). */}}
{{- define "burst.kept" -}}
{{- $found := lookup "v1" "Secret" (index . 0).Release.Namespace (index . 1) }}
{{- get ($found.data | default dict) (index . 2) | default (index . 3 | b64enc) }}
{{- end }}
