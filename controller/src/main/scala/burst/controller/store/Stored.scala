package burst.controller.store

import burst.protocol.{FlareId, PackageId}
import io.circe.{parser, Decoder}

/** Reads back what these stores wrote. Anything else in the database is damage: it throws, and surfaces as
  * the operation's [[StoreException]].
  */
private[store] object Stored:
  final class Damaged(what: String, cause: Throwable | Null = null)
      extends IllegalStateException(s"the database holds $what that cannot be read", cause)

  def json[A: Decoder](text: String): A =
    parser.decode[A](text).fold(cause => throw Damaged("a record", cause), identity)

  def packageId(text: String): PackageId = PackageId.parse(text).getOrElse(throw Damaged("a package id"))

  def flareId(text: String): FlareId = FlareId.parse(text).getOrElse(throw Damaged("a flare id"))
