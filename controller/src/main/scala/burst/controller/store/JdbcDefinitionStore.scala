package burst.controller.store

import burst.controller.limits.NamespaceLimits
import burst.controller.blob.PackageCopy
import burst.controller.definition.{Definition, SealedEnvironment, SealedSecret, VariableChanges, Version}
import burst.controller.secrets.SecretsKey
import burst.protocol.Timestamp
import io.circe.JsonObject
import io.circe.syntax.*
import scalikejdbc.*

/** Definitions in any SQL database, with the last `versions` versions of each. */
final class JdbcDefinitionStore(database: Database, packages: PackageIndex, versions: Int)
    extends DefinitionStore:
  import DefinitionColumns.*

  private val history = DefinitionHistory(versions)

  private val known = database.remembered[(String, String), Option[Definition]](Remembered.Entities)

  def find(namespace: String, name: String): Option[Definition] =
    known((namespace, name))(database.read("reading a definition")(present(namespace, name)))

  def find(namespace: String, name: String, version: String): Option[Definition] =
    Version.revision(version).flatMap: revision =>
      database.read("reading a definition")(one(namespace, name, revision))

  def list(namespace: String, limit: Int, skip: Int, inPackage: Option[String]): Vector[Definition] =
    database.read("listing definitions"):
      sql"""SELECT $Summary FROM definition WHERE ${within(namespace, inPackage)}
            ORDER BY updated DESC, name LIMIT $limit OFFSET $skip""".rows(definition(_, JsonObject.empty))

  def count(namespace: String, inPackage: Option[String]): Int =
    database.read("counting definitions"):
      sql"SELECT COUNT(*) FROM definition WHERE ${within(namespace, inPackage)}".count.toInt

  def versions(namespace: String, name: String, limit: Int, skip: Int): Vector[Definition] =
    val one = sqls"WHERE namespace = $namespace AND name = $name"
    database.read("listing versions"):
      sql"""SELECT $Summary FROM definition $one UNION ALL SELECT $Summary FROM definition_history $one
            ORDER BY revision DESC LIMIT $limit OFFSET $skip""".rows(definition(_, JsonObject.empty))

  def put(
      wanted: Definition,
      copy: PackageCopy,
      overwrite: Boolean,
      limits: NamespaceLimits,
      replaceParameters: Boolean,
      variables: VariableChanges
  ): Either[DeployRefusal, DefinitionChange] =
    database.change("storing a definition"):
      sealedByAnother(variables.secrets).toLeft(()).flatMap: _ =>
        edit(wanted.namespace, wanted.name, Some(copy), limits):
          case None => Right(wanted.copy(environment = variables.over(SealedEnvironment.Empty)))
          case Some(_) if !overwrite => Left(DeployRefusal.Exists)
          case Some(there) =>
            val parameters = if replaceParameters then wanted.own else there.own
            Right(
              wanted.copy(
                options = wanted.options.orElse(there.options),
                parameters = parameters.values,
                environment = variables.over(there.environment),
                action = there.action.under(wanted.action, wanted.kind, parameters.init)
              )
            )

  def edit(namespace: String, name: String, copy: Option[PackageCopy], limits: NamespaceLimits)(
      next: Option[Definition] => Either[DeployRefusal, Definition]
  ): Either[DeployRefusal, DefinitionChange] =
    database.change("storing a definition"):
      copy.foreach: copy =>
        packages.confirm(copy)
        packages.require(copy.id)
      holdNamespace(namespace)
      nameRefusal(namespace, name).toLeft(()).flatMap(_ => deploy(namespace, name, limits)(next))

  def rollBack(
      namespace: String,
      name: String,
      version: Option[String],
      limits: NamespaceLimits,
      now: Timestamp
  ): Either[DeployRefusal, DefinitionChange] =
    database.change("rolling a definition back"):
      holdNamespace(namespace)
      for
        there <- hold(namespace, name).toRight(DeployRefusal.Missing)
        wanted <- version match
          case None => history.last(namespace, name).toRight(DeployRefusal.NoVersionBefore)
          case Some(text) =>
            val found = Version.revision(text).flatMap(one(namespace, name, _))
            found.toRight(DeployRefusal.NoSuchVersion(text))
        // The package is needed by the older version before this commits, and by the present one after.
        // Secrets do not belong to a version: those that were replaced or removed stay so.
        environment = wanted.environment.under(there.environment.secrets)
        action = wanted.action.copy(label = there.action.nextLabel)
        change <-
          replace(there, wanted.copy(updated = now, environment = environment, action = action), limits)
      yield change

  def delete(namespace: String, name: String): Option[DefinitionChange] =
    database.change("deleting a definition"):
      // Locked first: a call that drops older versions in the whole namespace would otherwise deadlock with
      // this one.
      holdNamespace(namespace)
      hold(namespace, name).map: there =>
        val released = history.packages(namespace, name) + there.packageId
        // Its history is deleted with it.
        sql"DELETE FROM definition WHERE namespace = $namespace AND name = $name".update()
        DefinitionChange(there, released)

  /** Refuses secrets from a controller that started with a key that is no longer the database's: nobody could
    * open them.
    */
  private def sealedByAnother(secrets: Vector[SealedSecret])(using DBSession): Option[DeployRefusal] =
    secrets.headOption.flatMap: secret =>
      SecretsKeyFile.of(database).filter(_ != secret.keyId).map(DeployRefusal.OtherKey(secret.keyId, _))

  /** Locks the namespace, or two calls would both find room for one more. */
  private def holdNamespace(name: String)(using DBSession): Unit = Collection.hold(database, name)

  private def within(namespace: String, inPackage: Option[String]): SQLSyntax = inPackage match
    case None => sqls"namespace = $namespace"
    case Some(name) =>
      val prefix = s"$name/"
      sqls"namespace = $namespace AND SUBSTR(name, 1, ${prefix.length}) = $prefix"

  /** Returns the present version, locked until this transaction has ended. */
  private def hold(namespace: String, name: String)(using DBSession): Option[Definition] =
    sql"SELECT $Present FROM definition WHERE namespace = $namespace AND name = $name ${database.rowLock}"
      .row(DefinitionColumns.present)

  /** Returns why nothing may be stored under this name, if so. */
  private def nameRefusal(namespace: String, name: String)(using DBSession): Option[DeployRefusal] =
    name.split('/') match
      case Array(inPackage, _) =>
        PackageColumns.find(namespace, inPackage) match
          case None => Some(DeployRefusal.NoSuchPackage(inPackage))
          case Some(found) => found.binding.map(_ => DeployRefusal.InBinding(inPackage))
      case _ => Collection.holder(namespace, name, Collection.Definitions).map(DeployRefusal.NameTaken(_))

  /** Creates the first version, or replaces the present one, by what `next` returns. */
  private def deploy(namespace: String, name: String, limits: NamespaceLimits)(
      next: Option[Definition] => Either[DeployRefusal, Definition]
  )(using DBSession): Either[DeployRefusal, DefinitionChange] =
    hold(namespace, name) match
      case Some(there) => next(Some(there)).flatMap(replace(there, _, limits))
      case None =>
        for
          wanted <- next(None)
          left <- checkQuota(wanted, limits)
          change <-
            if create(wanted) then
              val released = history.trim(namespace, name, 1, left)
              Right(DefinitionChange(wanted.copy(version = Version.of(1)), released))
            // Another call was first, and the definition exists now.
            else deploy(namespace, name, limits)(next)
        yield change

  private def create(wanted: Definition)(using DBSession): Boolean =
    sql"""
      INSERT INTO definition ($Present)
      VALUES (${wanted.namespace}, ${wanted.name}, 1, ${wanted.kind}, ${wanted.packageId.value},
        ${wanted.packageSize}, ${wanted.updated}, ${wanted.options.asJson.noSpaces},
        ${actionText(
        wanted.action
      )}, ${wanted.parameters.asJson.noSpaces}, ${wanted.environment.variables.asJson.noSpaces},
        ${wanted.environment.secrets.asJson.noSpaces})
      ON CONFLICT (namespace, name) DO NOTHING""".update() == 1

  private def replace(there: Definition, next: Definition, limits: NamespaceLimits)(using
      DBSession
  ): Either[DeployRefusal, DefinitionChange] =
    import next.{name, namespace}
    checkQuota(next, limits).map: left =>
      history.add(namespace, name)
      sql"""
        UPDATE definition SET revision = revision + 1, kind = ${next.kind},
          package_id = ${next.packageId.value}, package_size = ${next.packageSize},
          options = ${next.options.asJson.noSpaces}, parameters = ${next.parameters.asJson.noSpaces},
          environment = ${next.environment.variables.asJson.noSpaces},
          secrets = ${next.environment.secrets.asJson.noSpaces}, action = ${actionText(next.action)},
          updated = ${next.updated}
        WHERE namespace = $namespace AND name = $name""".update()
      val revision = Version.revision(there.version).fold(1)(_ + 1)
      val released = history.trim(namespace, name, revision, left)
      DefinitionChange(next.copy(version = Version.of(revision)), released)

  /** Returns how many bytes are left beside the present versions, including `wanted`. */
  private def checkQuota(wanted: Definition, limits: NamespaceLimits)(using
      DBSession
  ): Either[DeployRefusal, Long] =
    val others = StoredUsage.definitions(wanted.namespace, wanted.name)
    val definitions = others.count
    val all = others.bytes + StoredUsage.packages(wanted.namespace).bytes + DefinitionColumns.bytes(wanted)
    if definitions >= limits.definitions then Left(DeployRefusal.TooMany(limits.definitions))
    else if all > limits.definitionBytes then Left(DeployRefusal.TooLarge(all, limits.definitionBytes))
    else tooMany(wanted.environment).toLeft(limits.definitionBytes - all)

  /** Checks all variables: with those that are kept a program may have more than the request has. */
  private def tooMany(environment: SealedEnvironment): Option[DeployRefusal] =
    val sizes =
      environment.variables.toVector.map((name, value) => name.length + Stored.free(value).length) ++
        environment.secrets.map(secret => secret.name.length + SecretsKey.size(secret))
    val bytes = sizes.map(_.toLong).sum
    if sizes.size > Definition.MostVariables then Some(DeployRefusal.TooManyVariables(sizes.size))
    else Option.when(bytes > Definition.MostVariableBytes)(DeployRefusal.VariablesTooLarge(bytes))

  private def present(namespace: String, name: String)(using DBSession): Option[Definition] =
    sql"SELECT $Present FROM definition WHERE namespace = $namespace AND name = $name"
      .row(DefinitionColumns.present)

  private def one(namespace: String, name: String, revision: Int)(using DBSession): Option[Definition] =
    val that = sqls"WHERE namespace = $namespace AND name = $name AND revision = $revision"
    // One statement: a version that is replaced meanwhile is in one of the two tables.
    sql"""SELECT $Present FROM definition $that
          UNION ALL
          SELECT $Columns,
            (SELECT secrets FROM definition WHERE namespace = $namespace AND name = $name) AS secrets
          FROM definition_history $that""".row(DefinitionColumns.present)
