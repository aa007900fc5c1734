package burst.controller.json

import burst.protocol.JsonText
import io.circe.{Json, JsonObject}
import org.apache.pekko.util.ByteString
import scala.collection.immutable.BitSet

/** Members for objects that lack them, encoded once for any number of objects. */
final class Defaults(members: Vector[(String, JsonText)]):
  // Each with a trailing comma.
  private val encoded = members.map: (name, value) =>
    (ByteString(Json.fromString(name).noSpaces) ++ ByteString(":") ++ value.bytes ++ ByteString(",")).toArray
  private val indexes = members.iterator.map(_._1).zipWithIndex.toMap

  def isEmpty: Boolean = encoded.isEmpty

  /** Returns the index of the member with that name. */
  private[json] def indexOf(name: String): Option[Int] = indexes.get(name)

  /** How many bytes an object grows by that has none of the members. */
  val length: Int = encoded.iterator.map(_.length).sum

  /** Puts those members whose indexes are not in `named` before an object's own, in one array. */
  private[json] def under(text: JsonText, named: BitSet, empty: Boolean): Filled =
    // An empty object needs no comma before its end: the last one is overwritten.
    val more = length - named.iterator.map(encoded(_).length).sum - (if empty then 1 else 0)
    if named.size == encoded.size then Filled.asItIs(text)
    else
      val own = text.bytes.drop(text.bytes.indexOf('{'.toByte) + 1)
      Filled(1 + more + own.length, isNew = true, () => whole(named, more, own))

  private def whole(named: BitSet, more: Int, own: ByteString): JsonText =
    val whole = new Array[Byte](1 + more + own.length)
    whole(0) = '{'
    var at = 1
    for (member, index) <- encoded.iterator.zipWithIndex if !named(index) do
      System.arraycopy(member, 0, whole, at, member.length.min(whole.length - at))
      at += member.length
    own.copyToArray(whole, 1 + more, own.length)
    JsonText(ByteString.fromArrayUnsafe(whole))

object Defaults:
  def of(parameters: JsonObject): Defaults =
    Defaults(parameters.toVector.map((name, value) => name -> JsonText.of(value)))

/** An object with defaults under it, whose length is known before it is built.
  *
  * @param isNew
  *   whether the text differs from that of the object
  */
final class Filled private[json] (val length: Int, val isNew: Boolean, make: () => JsonText):
  def text: JsonText = make()

private[json] object Filled:
  def asItIs(text: JsonText): Filled = Filled(text.length, isNew = false, () => text)
