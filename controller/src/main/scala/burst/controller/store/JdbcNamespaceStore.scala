package burst.controller.store

import burst.controller.limits.{NamespaceLimits, OwnLimits}
import burst.controller.secrets.ActivationKeys
import burst.protocol.Timestamp
import io.circe.syntax.*
import java.nio.charset.StandardCharsets.UTF_8
import java.security.{MessageDigest, SecureRandom}
import java.util.{HexFormat, UUID}
import scala.util.Try
import scalikejdbc.*

/** Namespaces in any SQL database. A key is 256 random bits, so its stored SHA-256 cannot be searched by
  * brute force; a slow password hash would only slow down every request.
  */
final class JdbcNamespaceStore(database: Database, defaults: NamespaceLimits, keys: ActivationKeys)
    extends NamespaceStore:
  import JdbcNamespaceStore.*

  /** Hash and identity by the uuid of the credentials. */
  private val opened = database.remembered[String, Option[(String, Identity)]](Known)

  def authenticate(uuid: String, key: String): Option[Identity] =
    // Text that is no UUID may not even be valid text for the database.
    val known = Try(UUID.fromString(uuid).toString).toOption.filter(_ == uuid).getOrElse(NoUuid)
    val found = opened(known)(database.read("authenticating"):
      sql"SELECT name, key_hash, limits FROM namespace WHERE uuid = $known AND revoked IS NULL"
        .row: row =>
          val identity = Identity(row.string("name"), limits(row.stringOpt("limits")), Some(known))
          (row.string("key_hash"), identity))
    // An unknown uuid is compared as well: how long an answer takes must not say which half was wrong.
    val expected = found.fold(NoHash)((hash, _) => hash)
    val matches = MessageDigest.isEqual(hash(key).getBytes(UTF_8), expected.getBytes(UTF_8))
    // Only a caller with the right key learns that this path is shorter.
    val opens = matches && found.isDefined || keys.opens(known, key, Timestamp.now())
    found.collect { case (_, identity) if opens => identity }

  def issue(namespace: String, limits: OwnLimits, overwrite: Boolean): Option[Issued] =
    withPair("creating a namespace", namespace): (uuid, key) =>
      val own = limits.asJson.noSpaces
      insert(namespace, uuid, key, own, administered = 1) || overwrite && sql"""
        UPDATE namespace SET uuid = $uuid, key_hash = ${hash(key)}, limits = $own, revoked = NULL,
          administered = 1
        WHERE name = $namespace""".update() == 1

  def establish(namespace: String): Option[String] =
    val issued = withPair("creating a namespace", namespace): (uuid, key) =>
      insert(namespace, uuid, key, OwnLimits().asJson.noSpaces, administered = 0)
    issued.map(_.credentials)

  /** Returns a fresh key pair, if `store` stores it. */
  private def withPair(operation: String, namespace: String)(
      store: (String, String) => DBSession ?=> Boolean
  ): Option[Issued] =
    val (uuid, key) = freshPair()
    database.change(operation):
      if store(uuid, key) then select(namespace).map(Issued(_, s"$uuid:$key")) else None

  private def insert(namespace: String, uuid: String, key: String, limits: String, administered: Int)(using
      DBSession
  ): Boolean =
    sql"""
    INSERT INTO namespace (name, uuid, key_hash, limits, created, administered)
    VALUES ($namespace, $uuid, ${hash(key)}, $limits, ${Timestamp.now()}, $administered)
    ON CONFLICT (name) DO NOTHING""".update() == 1

  def renewKey(namespace: String): Option[String] =
    val issued = withPair("renewing a key", namespace): (uuid, key) =>
      sql"""UPDATE namespace SET uuid = $uuid, key_hash = ${hash(key)}
            WHERE name = $namespace AND administered = 0 AND revoked IS NULL""".update() == 1
    issued.map(_.credentials)

  def replaceKey(namespace: String): Option[Issued] = withPair("replacing a key", namespace): (uuid, key) =>
    sql"""UPDATE namespace SET uuid = $uuid, key_hash = ${hash(key)}, administered = 1
          WHERE name = $namespace AND revoked IS NULL""".update() == 1

  def limit(namespace: String, limits: OwnLimits): Option[Namespace] =
    database.change("limiting a namespace"):
      val present =
        sql"SELECT limits FROM namespace WHERE name = $namespace ${database.rowLock}".row(_.stringOpt(
          "limits"
        ))
      present.foreach: own =>
        val changed = limits.or(own.fold(OwnLimits())(Stored.json[OwnLimits])).asJson.noSpaces
        sql"UPDATE namespace SET limits = $changed WHERE name = $namespace".update()
      select(namespace)

  def revoke(namespace: String): Option[Namespace] =
    database.change("revoking a key"):
      sql"""UPDATE namespace SET revoked = ${Timestamp.now()}
            WHERE name = $namespace AND revoked IS NULL""".update()
      select(namespace)

  def revoked(): Set[String] =
    database.read("listing revoked namespaces"):
      sql"SELECT name FROM namespace WHERE revoked IS NOT NULL".rows(_.string("name")).toSet

  def find(namespace: String): Option[Namespace] =
    database.read("reading a namespace")(select(namespace))

  def list(limit: Int, skip: Int): Vector[Namespace] =
    database.read("listing namespaces"):
      sql"SELECT name, limits, created, revoked, uuid FROM namespace ORDER BY name LIMIT $limit OFFSET $skip"
        .rows(read)

  private def select(namespace: String)(using DBSession): Option[Namespace] =
    sql"SELECT name, limits, created, revoked, uuid FROM namespace WHERE name = $namespace".row(read)

  private def read(row: WrappedResultSet): Namespace = Namespace(
    row.string("name"),
    limits(row.stringOpt("limits")),
    row.get[Timestamp]("created"),
    row.get[Option[Timestamp]]("revoked"),
    row.string("uuid")
  )

  private def limits(own: Option[String]): NamespaceLimits =
    own.fold(OwnLimits())(Stored.json[OwnLimits]).over(defaults)

private object JdbcNamespaceStore:
  /** How many credentials are cached. */
  private val Known = 10_000

  private val NoUuid = ""
  private val NoHash = "0" * 64
  private val random = SecureRandom()

  private def freshPair(): (String, String) =
    val key = new Array[Byte](32)
    random.nextBytes(key)
    (UUID.randomUUID.toString, HexFormat.of().formatHex(key))

  private def hash(key: String): String =
    HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(key.getBytes(UTF_8)))
