package burst.controller.store

import io.circe.Codec
import io.circe.syntax.*
import java.nio.charset.StandardCharsets.UTF_8
import java.security.{MessageDigest, SecureRandom}
import java.util.{HexFormat, UUID}
import scalikejdbc.*

/** Namespaces in any SQL database. A key is 256 random bits, so that one SHA-256 of it at rest cannot be
  * searched; a slow password hash would only slow every request down.
  */
final class JdbcNamespaceStore(database: Database, defaults: NamespaceLimits) extends NamespaceStore:
  import JdbcNamespaceStore.{given, *}

  def authenticate(uuid: String, key: String): Option[Identity] =
    val found = database.read("authenticating"):
      sql"SELECT name, key_hash, limits FROM namespace WHERE uuid = $uuid"
        .map: row =>
          (row.string("key_hash"), Identity(row.string("name"), limits(row.stringOpt("limits"))))
        .single()
    // An unknown uuid is compared as well: how long an answer takes must not say which half was wrong.
    val expected = found.fold(NoHash)((hash, _) => hash)
    val matches = MessageDigest.isEqual(hash(key).getBytes(UTF_8), expected.getBytes(UTF_8))
    found.collect { case (_, identity) if matches => identity }

  def create(namespace: String, limits: Option[NamespaceLimits]): Option[String] =
    val (uuid, key) = freshPair()
    val inserted = database.write("creating a namespace"):
      sql"""INSERT INTO namespace (name, uuid, key_hash, limits, created)
            VALUES ($namespace, $uuid, ${hash(key)}, ${limits.map(_.asJson.noSpaces)},
              ${System.currentTimeMillis() * 1000})
            ON CONFLICT (name) DO NOTHING""".update()
    Option.when(inserted == 1)(s"$uuid:$key")

  def renewKey(namespace: String): Option[String] =
    val (uuid, key) = freshPair()
    val updated = database.write("renewing a key"):
      sql"UPDATE namespace SET uuid = $uuid, key_hash = ${hash(key)} WHERE name = $namespace".update()
    Option.when(updated == 1)(s"$uuid:$key")

  def limits(namespace: String): Option[NamespaceLimits] =
    database.read("reading limits"):
      sql"SELECT limits FROM namespace WHERE name = $namespace"
        .map(row => limits(row.stringOpt("limits")))
        .single()

  private def limits(own: Option[String]): NamespaceLimits =
    own.fold(defaults)(Stored.json[NamespaceLimits])

private object JdbcNamespaceStore:
  given Codec.AsObject[NamespaceLimits] = Codec.AsObject.derived

  private val NoHash = "0" * 64
  private val random = SecureRandom()

  private def freshPair(): (String, String) =
    val key = new Array[Byte](32)
    random.nextBytes(key)
    (UUID.randomUUID.toString, HexFormat.of().formatHex(key))

  private def hash(key: String): String =
    HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(key.getBytes(UTF_8)))
