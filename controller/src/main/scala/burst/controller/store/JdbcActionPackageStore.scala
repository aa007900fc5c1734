package burst.controller.store

import burst.controller.definition.ActionPackage
import burst.controller.limits.NamespaceLimits
import io.circe.syntax.*
import scalikejdbc.*

/** Packages of actions in any SQL database. */
final class JdbcActionPackageStore(database: Database, definitions: DefinitionStore)
    extends ActionPackageStore:
  import PackageColumns.*

  private val known = database.remembered[(String, String), Option[ActionPackage]](Remembered.Entities)

  def find(namespace: String, name: String): Option[ActionPackage] =
    known((namespace, name)):
      database.read("reading a package of actions")(PackageColumns.find(namespace, name))

  def list(namespace: String, published: Boolean, limit: Int, skip: Int): Vector[ActionPackage] =
    database.read("listing packages of actions"):
      sql"""SELECT $Summary FROM action_package WHERE ${among(namespace, published)}
            ORDER BY updated DESC, name LIMIT $limit OFFSET $skip""".rows(summary)

  def count(namespace: String, published: Boolean): Int =
    database.read("counting packages of actions"):
      sql"SELECT COUNT(*) FROM action_package WHERE ${among(namespace, published)}".count.toInt

  def edit(namespace: String, name: String, limits: NamespaceLimits)(
      next: Option[ActionPackage] => Either[PackageRefusal, ActionPackage]
  ): Either[PackageRefusal, ActionPackage] =
    database.change("storing a package of actions"):
      Collection.hold(database, namespace)
      val there = PackageColumns.find(namespace, name)
      for
        _ <- Collection
          .holder(namespace, name, Collection.Packages)
          .map(PackageRefusal.NameTaken(_))
          .toLeft(())
        wanted <- next(there)
        _ <- binding(there, wanted)
        _ <- checkQuota(wanted, limits)
      yield
        put(wanted)
        wanted

  def delete(namespace: String, name: String, force: Boolean): Either[PackageRefusal, PackageDeleted] =
    database.change("deleting a package of actions"):
      Collection.hold(database, namespace)
      PackageColumns.find(namespace, name).toRight(PackageRefusal.Missing).flatMap: there =>
        val actions = actionsOf(namespace, name)
        if actions.nonEmpty && !force then Left(PackageRefusal.NotEmpty(actions.size))
        else
          val released = actions.flatMap(definitions.delete(namespace, _)).flatMap(_.released).toSet
          sql"DELETE FROM action_package WHERE namespace = $namespace AND name = $name".update()
          Right(PackageDeleted(there, released))

  private def among(namespace: String, published: Boolean): SQLSyntax =
    if published then sqls"namespace = $namespace AND publish = 1" else sqls"namespace = $namespace"

  private def actionsOf(namespace: String, name: String)(using DBSession): Vector[String] =
    val prefix = s"$name/"
    sql"""SELECT name FROM definition
          WHERE namespace = $namespace AND SUBSTR(name, 1, ${prefix.length}) = $prefix"""
      .rows(_.string("name"))

  /** Checks that the package may bind its target. */
  private def binding(there: Option[ActionPackage], wanted: ActionPackage)(using
      DBSession
  ): Either[PackageRefusal, Unit] = wanted.binding match
    case None => Right(())
    case Some(_) if there.exists(_.binding.isEmpty) => Left(PackageRefusal.NoBinding)
    case Some(target) =>
      PackageColumns.find(target.namespace, target.name) match
        case Some(found) if !found.isOpenTo(wanted.namespace) => Left(PackageRefusal.BindsClosed)
        case Some(found) if found.binding.isDefined => Left(PackageRefusal.BindsBinding(target))
        case Some(_) => Right(())
        // What else exists in another namespace is not disclosed.
        case None if target.namespace != wanted.namespace => Left(PackageRefusal.BindsClosed)
        case None =>
          Collection.holder(target.namespace, target.name, Collection.Packages) match
            case Some(other) => Left(PackageRefusal.BindsOther(target, other))
            case None => Left(PackageRefusal.BindsNothing(target))

  private def checkQuota(wanted: ActionPackage, limits: NamespaceLimits)(using
      DBSession
  ): Either[PackageRefusal, Unit] =
    val others = StoredUsage.packages(wanted.namespace, wanted.name)
    val own = Seq(wanted.parameters.values, wanted.annotations)
      .map(fields => Stored.free(fields.asJson.noSpaces).length.toLong)
      .sum
    val all = others.bytes + StoredUsage.definitions(wanted.namespace).bytes + own
    if others.count >= limits.definitions then Left(PackageRefusal.TooMany(limits.definitions))
    else if all > limits.definitionBytes then Left(PackageRefusal.TooLarge(all, limits.definitionBytes))
    else Right(())

  private def put(wanted: ActionPackage)(using DBSession): Unit =
    val bound = wanted.binding
    val _ = sql"""
      INSERT INTO action_package ($Whole)
      VALUES (${wanted.namespace}, ${wanted.name}, ${wanted.version}, ${if wanted.publish then 1 else 0},
        ${bound.map(_.namespace)}, ${bound.map(_.name)}, ${wanted.annotations.asJson.noSpaces},
        ${wanted.updated}, ${wanted.parameters.values.asJson.noSpaces}, ${wanted.parameters.init.asJson.noSpaces})
      ON CONFLICT (namespace, name) DO UPDATE SET version = excluded.version, publish = excluded.publish,
        bound_namespace = excluded.bound_namespace, bound_name = excluded.bound_name,
        annotations = excluded.annotations, updated = excluded.updated, parameters = excluded.parameters,
        init = excluded.init""".update()
