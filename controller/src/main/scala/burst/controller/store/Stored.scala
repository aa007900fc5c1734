package burst.controller.store

import burst.protocol.{FlareId, PackageId}
import io.circe.{parser, Decoder}
import java.nio.charset.StandardCharsets.UTF_8
import scalikejdbc.WrappedResultSet

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

  /** Free text is kept as bytes, since not every database's text can hold a NUL. */
  def free(text: String): Array[Byte] = text.getBytes(UTF_8)

  def free(row: WrappedResultSet, column: String): String = String(row.bytes(column), UTF_8)
