package burst.controller.json

import burst.protocol.JsonText
import io.circe.Json
import org.apache.pekko.util.ByteString

/** Members for objects that do not have them, encoded once for however many objects. */
final class Defaults(members: Vector[(String, JsonText)]):
  // Each with the comma behind it.
  private val encoded = members.map: (name, value) =>
    name -> (ByteString(Json.fromString(name).noSpaces) ++ ByteString(":") ++ value.bytes ++
      ByteString(",")).toArray
  private val names = members.iterator.map(_._1).toSet

  def isEmpty: Boolean = encoded.isEmpty
  def has(name: String): Boolean = names(name)

  /** An object with those before its own members that are not named, in one array. */
  private[json] def under(text: JsonText, named: Set[String], empty: Boolean): JsonText =
    val missing = encoded.filterNot((name, _) => named(name))
    if missing.isEmpty then text
    else
      val own = text.bytes.drop(text.bytes.indexOf('{'.toByte) + 1)
      // Before the end of an empty object there is no comma: what follows is written over it.
      val length = missing.iterator.map(_._2.length).sum - (if empty then 1 else 0)
      val whole = new Array[Byte](1 + length + own.length)
      whole(0) = '{'
      var at = 1
      missing.foreach: (_, member) =>
        System.arraycopy(member, 0, whole, at, member.length.min(whole.length - at))
        at += member.length
      own.copyToArray(whole, 1 + length, own.length)
      JsonText(ByteString.fromArrayUnsafe(whole))
