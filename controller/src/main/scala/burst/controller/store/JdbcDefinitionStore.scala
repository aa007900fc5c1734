package burst.controller.store

import burst.controller.definition.{Definition, FlareOptions}
import burst.protocol.PackageId
import io.circe.JsonObject
import io.circe.syntax.*
import scalikejdbc.*

/** Definitions in any SQL database. A version is `0.0.` and the number of times the name was deployed. */
final class JdbcDefinitionStore(database: Database) extends DefinitionStore:

  def find(namespace: String, name: String): Option[Definition] =
    database.read("reading a definition")(select(namespace, name))

  def list(namespace: String, limit: Int, skip: Int): Vector[Definition] =
    database.read("listing definitions"):
      sql"""SELECT * FROM definition WHERE namespace = $namespace
            ORDER BY updated DESC, name LIMIT $limit OFFSET $skip""".map(definition).collection[Vector]()

  // One statement decides who creates and one who raises the revision, so that no lock is needed on any
  // database: of concurrent calls each gets a version of its own.
  def put(wanted: Definition, overwrite: Boolean, replaceParameters: Boolean): Option[Definition] =
    database.write("storing a definition"):
      val created = sql"""
        INSERT INTO definition
          (namespace, name, revision, kind, package_id, package_size, options, parameters, updated)
        VALUES (${wanted.namespace}, ${wanted.name}, 1, ${wanted.kind}, ${wanted.packageId.value},
          ${wanted.packageSize}, ${wanted.options.asJson.noSpaces}, ${wanted.parameters.asJson.noSpaces},
          ${wanted.updated})
        ON CONFLICT (namespace, name) DO NOTHING""".update()
      val stored = created == 1 || overwrite && replace(wanted, replaceParameters)
      if stored then select(wanted.namespace, wanted.name) else None

  def delete(namespace: String, name: String): Boolean =
    database.write("deleting a definition"):
      sql"DELETE FROM definition WHERE namespace = $namespace AND name = $name".update() == 1

  def usesPackage(packageId: PackageId): Boolean =
    database.read("looking for uses of a package"):
      sql"""SELECT 1 FROM definition WHERE package_id = ${packageId.value}
            UNION ALL
            SELECT 1 FROM flare WHERE state IN (${JdbcFlareStore.Live}) AND package_id = ${packageId.value}
            LIMIT 1""".map(_.int(1)).single().isDefined

  def holding[A](packageId: PackageId)(work: => A): A =
    database.exclusively(s"package ${packageId.value}")(work)

  // The first statement holds the row, so that what is read after it is what the second one completes.
  private def replace(wanted: Definition, replaceParameters: Boolean)(using DBSession): Boolean =
    val parameters = Option.when(replaceParameters)(wanted.parameters.asJson.noSpaces)
    sql"""
      UPDATE definition SET revision = revision + 1, kind = ${wanted.kind},
        package_id = ${wanted.packageId.value}, package_size = ${wanted.packageSize},
        parameters = COALESCE($parameters, parameters), updated = ${wanted.updated}
      WHERE namespace = ${wanted.namespace} AND name = ${wanted.name}""".update()
    select(wanted.namespace, wanted.name).exists: there =>
      sql"""
        UPDATE definition SET options = ${wanted.options.orElse(there.options).asJson.noSpaces}
        WHERE namespace = ${wanted.namespace} AND name = ${wanted.name}""".update() == 1

  private def select(namespace: String, name: String)(using DBSession): Option[Definition] =
    sql"SELECT * FROM definition WHERE namespace = $namespace AND name = $name".map(definition).single()

  private def definition(row: WrappedResultSet): Definition = Definition(
    namespace = row.string("namespace"),
    name = row.string("name"),
    version = s"0.0.${row.int("revision")}",
    kind = row.string("kind"),
    packageId = Stored.packageId(row.string("package_id")),
    packageSize = row.long("package_size"),
    options = Stored.json[FlareOptions](row.string("options")),
    parameters = Stored.json[JsonObject](row.string("parameters")),
    updated = row.long("updated")
  )
