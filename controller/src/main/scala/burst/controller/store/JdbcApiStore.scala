package burst.controller.store

import io.circe.{Json, JsonObject}
import java.util.UUID
import scalikejdbc.*

/** APIs of the gateway in any SQL database. */
final class JdbcApiStore(database: Database) extends ApiStore:
  import JdbcApiStore.*

  def list(tenant: String, api: Option[String], limit: Int, skip: Int): Vector[StoredApi] =
    val which = api.fold(sqls"tenant = $tenant")(called(tenant, _))
    database.read("listing APIs"):
      sql"SELECT $Columns FROM gateway_api WHERE $which ORDER BY base_path LIMIT $limit OFFSET $skip"
        .rows(read)

  def revisions(tenant: String): Map[String, String] =
    database.read("looking for an API"):
      sql"SELECT base_path, revision FROM gateway_api WHERE tenant = $tenant"
        .rows(row => row.string("base_path") -> row.string("revision"))
        .toMap

  def find(tenant: String, basePath: String): Option[StoredApi] =
    database.read("reading an API"):
      sql"SELECT $Columns FROM gateway_api WHERE tenant = $tenant AND base_path = $basePath".row(read)

  def edit[E](namespace: String, tenant: String, api: String)(
      next: (Option[StoredApi], ApisBeside) => Either[E, Option[StoredApi]]
  ): Either[E, Option[StoredApi]] =
    database.write("storing an API", Durability.Power):
      // One call at a time reads and writes the namespace's APIs.
      Collection.hold(database, namespace)
      val there =
        sql"SELECT $Columns FROM gateway_api WHERE ${called(tenant, api)} ORDER BY base_path LIMIT 1"
          .row(read)
      next(there, beside(tenant, there)).map: wanted =>
        there.foreach(old => delete(tenant, old.basePath))
        wanted.foreach(insert(tenant, _))
        wanted

  private def beside(tenant: String, there: Option[StoredApi])(using DBSession): ApisBeside =
    val but =
      there.fold(sqls"tenant = $tenant")(api => sqls"tenant = $tenant AND base_path <> ${api.basePath}")
    sql"SELECT COUNT(*) AS n, COALESCE(SUM(LENGTH(document)), 0) AS size FROM gateway_api WHERE $but"
      .row(row => ApisBeside(row.int("n"), row.long("size")))
      .getOrElse(ApisBeside(0, 0))

  private def delete(tenant: String, basePath: String)(using DBSession): Unit =
    val _ = sql"DELETE FROM gateway_api WHERE tenant = $tenant AND base_path = $basePath".update()

  private def insert(tenant: String, api: StoredApi)(using DBSession): Unit =
    val document = Json.fromJsonObject(api.document).noSpaces
    val _ = sql"""
      INSERT INTO gateway_api (tenant, base_path, namespace, title, revision, document)
      VALUES ($tenant, ${api.basePath}, ${api.namespace}, ${api.title}, ${UUID.randomUUID.toString}, $document)
    """.update()

private object JdbcApiStore:
  private val Columns = sqls"namespace, base_path, title, document"

  /** A name that begins with a slash is a base path, any other a title. */
  private def called(tenant: String, api: String): SQLSyntax =
    if api.startsWith("/") then sqls"tenant = $tenant AND base_path = $api"
    else sqls"tenant = $tenant AND title = $api"

  private def read(row: WrappedResultSet): StoredApi = StoredApi(
    row.string("namespace"),
    row.string("base_path"),
    row.string("title"),
    Stored.json[JsonObject](row.string("document"))
  )
