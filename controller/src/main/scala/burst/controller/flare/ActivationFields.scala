package burst.controller.flare

import burst.protocol.FlareId
import io.circe.Codec

/** What OpenWhisk's clients are told of an invocation, beyond what its flare says.
  *
  * @param path
  *   the action that runs, `namespace/[package/]name`, whoever asked for it
  * @param cause
  *   the invocation that this one is a part of
  * @param component
  *   whether that is a sequence
  * @param binding
  *   the package by which it was asked for
  * @param burst
  *   whether each of its packs is to have a record of its own
  * @param key
  *   beside which credentials its program gets a key of its own, if it is to have one
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
