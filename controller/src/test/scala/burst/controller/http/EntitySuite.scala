package burst.controller.http

import burst.controller.deploy.Executables
import io.circe.Json

/** The API as OpenWhisk's clients use it, by two namespaces. */
abstract class EntitySuite extends HttpSuite:
  protected val here = "/api/v1/namespaces/_"
  protected val guest = "/api/v1/namespaces/guest"

  protected lazy val other: String =
    send("PUT", s"$admin/other", Some("{}"), caller(admin)).string("auth")

  protected def source(kind: String, code: String, more: String = ""): Option[String] =
    Some(s"""{"exec":{"kind":"$kind","code":${Json.fromString(code).noSpaces}}$more}""")

  protected val python: String = "def main(args):\n    return {\"é\": \"\\\\ and \\t\"}\n"

  /** Stores an action or a package, overwriting any that exists. */
  protected def store(path: String, body: Option[String], auth: String = credentials)(using
      munit.Location
  ): Reply =
    val reply = send("PUT", s"$here/$path?overwrite=true", body, Some(auth))
    assertEquals(reply.status, 200, reply.body)
    reply

  protected def sequence(components: String*): Option[String] =
    Some(s"""{"exec":{"kind":"sequence","components":[${components.map(c => s"\"$c\"").mkString(",")}]}}""")

  protected def at(reply: Reply, path: String*): Json =
    path.foldLeft(reply.json)((json, field) => json.hcursor.get[Json](field).getOrElse(Json.Null))

  /** The value of a key among parameters or annotations. */
  protected def pair(reply: Reply, field: String, key: String): Option[Json] =
    at(reply, field).asArray.getOrElse(Vector.empty).collectFirst:
      case json if json.hcursor.get[String]("key").contains(key) =>
        json.hcursor.get[Json]("value").getOrElse(Json.Null)

  protected def names(reply: Reply): Vector[String] =
    reply.json.asArray.getOrElse(Vector.empty).flatMap(_.hcursor.get[String]("name").toOption)

  protected val binary: String = code(Executables.zip("exec" -> Executables.elf()))
