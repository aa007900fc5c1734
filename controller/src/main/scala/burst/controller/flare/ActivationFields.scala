package burst.controller.flare

import burst.protocol.FlareId
import io.circe.Codec

/** What OpenWhisk's clients see of an invocation, beyond the data of its flare.
  *
  * @param path
  *   the action that runs, `namespace/[package/]name`, whoever invoked it
  * @param cause
  *   the invocation that this one is a part of
  * @param component
  *   whether that is a sequence
  * @param binding
  *   the package through which it was invoked
  * @param burst
  *   whether each of its packs has a record of its own
  * @param key
  *   the id of the credentials for which its program gets a key of its own, if it gets one
  */
final case class ActivationFields(
    path: String,
    version: String,
    transaction: String,
    logs: Int,
    concurrency: Int,
    cause: Option[FlareId],
    component: Boolean,
    binding: Option[String],
    burst: Boolean,
    key: Option[String]
) derives Codec.AsObject:
  /** The namespace and the name of the definition. */
  def definition: (String, String) = path.span(_ != '/') match
    case (namespace, name) => (namespace, name.drop(1))
