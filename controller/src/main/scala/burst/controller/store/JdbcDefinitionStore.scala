package burst.controller.store

import burst.controller.limits.NamespaceLimits
import burst.controller.blob.PackageCopy
import burst.controller.definition.{Definition, FlareOptions}
import io.circe.JsonObject
import io.circe.syntax.*
import scalikejdbc.*

/** Definitions in any SQL database. A version is `0.0.` and the number of times the name was deployed. */
final class JdbcDefinitionStore(database: Database, packages: PackageIndex) extends DefinitionStore:

  def find(namespace: String, name: String): Option[Definition] =
    database.read("reading a definition")(select(namespace, name))

  def list(namespace: String, limit: Int, skip: Int): Vector[Definition] =
    database.read("listing definitions"):
      sql"""SELECT namespace, name, revision, kind, package_id, package_size, options, updated
            FROM definition WHERE namespace = $namespace
            ORDER BY updated DESC, name LIMIT $limit OFFSET $skip"""
        .map(definition(_, JsonObject.empty))
        .collection[Vector]()

  def put(
      wanted: Definition,
      copy: PackageCopy,
      overwrite: Boolean,
      limits: NamespaceLimits,
      replaceParameters: Boolean
  ): Either[DeployRefusal, Definition] =
    database.write("storing a definition", Durability.Power):
      packages.confirm(copy)
      packages.require(wanted.packageId)
      // Of one namespace one at a time, or two would both find room for one more.
      sql"SELECT 1 FROM namespace WHERE name = ${wanted.namespace} ${database.rowLock}".map(_.int(1)).single()
      for
        _ <- room(wanted, limits, replaceParameters)
        stored <- store(wanted, overwrite, replaceParameters)
      yield stored

  private def room(wanted: Definition, limits: NamespaceLimits, replaceParameters: Boolean)(using
      DBSession
  ): Either[DeployRefusal, Unit] =
    val others =
      sql"""SELECT COUNT(*) AS definitions, COALESCE(SUM(package_size + OCTET_LENGTH(parameters)), 0) AS bytes
            FROM definition WHERE namespace = ${wanted.namespace} AND name <> ${wanted.name}"""
        .map(row => (row.int("definitions"), row.long("bytes")))
        .single()
    val (definitions, bytes) = others.getOrElse((0, 0L))
    val present =
      if replaceParameters then None
      else
        sql"""SELECT OCTET_LENGTH(parameters) AS bytes FROM definition
              WHERE namespace = ${wanted.namespace} AND name = ${wanted.name}""".map(_.long("bytes")).single()
    val parameters = present.getOrElse(Stored.free(wanted.parameters.asJson.noSpaces).length.toLong)
    val all = bytes + wanted.packageSize + parameters
    if definitions >= limits.definitions then Left(DeployRefusal.TooMany(limits.definitions))
    else if all > limits.definitionBytes then Left(DeployRefusal.TooLarge(all, limits.definitionBytes))
    else Right(())

  // One statement decides who creates and one who raises the revision, so that no lock is needed on any
  // database: of concurrent calls each gets a version of its own.
  private def store(wanted: Definition, overwrite: Boolean, replaceParameters: Boolean)(using
      DBSession
  ): Either[DeployRefusal, Definition] =
    val created = sql"""
      INSERT INTO definition
        (namespace, name, revision, kind, package_id, package_size, options, parameters, updated)
      VALUES (${wanted.namespace}, ${wanted.name}, 1, ${wanted.kind}, ${wanted.packageId.value},
        ${wanted.packageSize}, ${wanted.options.asJson.noSpaces}, ${wanted.parameters.asJson.noSpaces},
        ${wanted.updated})
      ON CONFLICT (namespace, name) DO NOTHING""".update()
    val stored = created == 1 || overwrite && replace(wanted, replaceParameters)
    (if stored then select(wanted.namespace, wanted.name) else None).toRight(DeployRefusal.Exists)

  def delete(namespace: String, name: String): Boolean =
    database.write("deleting a definition", Durability.Power):
      sql"DELETE FROM definition WHERE namespace = $namespace AND name = $name".update() == 1

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
    sql"SELECT * FROM definition WHERE namespace = $namespace AND name = $name"
      .map(row => definition(row, Stored.json[JsonObject](row.string("parameters"))))
      .single()

  private def definition(row: WrappedResultSet, parameters: JsonObject): Definition = Definition(
    namespace = row.string("namespace"),
    name = row.string("name"),
    version = s"0.0.${row.int("revision")}",
    kind = row.string("kind"),
    packageId = Stored.packageId(row.string("package_id")),
    packageSize = row.long("package_size"),
    options = Stored.json[FlareOptions](row.string("options")),
    parameters = parameters,
    updated = row.long("updated")
  )
