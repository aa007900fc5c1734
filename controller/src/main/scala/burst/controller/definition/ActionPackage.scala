package burst.controller.definition

import burst.protocol.Timestamp
import io.circe.Codec
import io.circe.JsonObject

/** A package of actions, with parameters for all of them; or a binding, which is another package under a name
  * and with parameters of its own.
  */
final case class ActionPackage(
    namespace: String,
    name: String,
    version: String,
    publish: Boolean,
    binding: Option[PackageName],
    parameters: Parameters,
    annotations: JsonObject,
    updated: Timestamp
):
  /** Whether `reader` may read it and its contents. */
  def isOpenTo(reader: String): Boolean = publish || namespace == reader

/** The full name of a package. */
final case class PackageName(namespace: String, name: String) derives Codec.AsObject
