package burst.node.traces

import io.opentelemetry.api.common.AttributeKey
import io.opentelemetry.api.common.AttributeKey.{longKey, stringKey}

/** The keys of what spans contain: names and numbers, but none of a user's inputs or outputs. */
object SpanKeys:
  val Flare: AttributeKey[String] = stringKey("burst.flare")
  val Transaction: AttributeKey[String] = stringKey("burst.transaction")
  val Namespace: AttributeKey[String] = stringKey("burst.namespace")
  val Definition: AttributeKey[String] = stringKey("burst.definition")
  val Size: AttributeKey[java.lang.Long] = longKey("burst.size")
  val Granularity: AttributeKey[java.lang.Long] = longKey("burst.granularity")
  val Packs: AttributeKey[java.lang.Long] = longKey("burst.packs")
  val Attempt: AttributeKey[java.lang.Long] = longKey("burst.attempt")
  val State: AttributeKey[String] = stringKey("burst.state")
  val Group: AttributeKey[String] = stringKey("burst.group")
  val Invoker: AttributeKey[String] = stringKey("burst.invoker")
  val Pack: AttributeKey[java.lang.Long] = longKey("burst.pack")
  val Workers: AttributeKey[java.lang.Long] = longKey("burst.workers")

  /** `cold`, `prewarmed` or `warm`. */
  val Start: AttributeKey[String] = stringKey("burst.start")
  val Worker: AttributeKey[java.lang.Long] = longKey("burst.worker")

  /** How many spans of a pack were left out, beyond those reported. */
  val LeftOut: AttributeKey[java.lang.Long] = longKey("burst.left_out")

  // Named by OpenTelemetry's conventions.
  val ErrorType: AttributeKey[String] = stringKey("error.type")
  val Method: AttributeKey[String] = stringKey("http.request.method")
  val Route: AttributeKey[String] = stringKey("http.route")
  val Status: AttributeKey[java.lang.Long] = longKey("http.response.status_code")
