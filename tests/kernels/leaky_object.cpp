// What an instruction set's files must not do: leave a copy of inline code that the linker could choose for the whole program.
// tools/check_isa_objects.sh has to refuse this object.
namespace conclave::leaky {

inline float square(float x) { return x * x; }
extern float (*const kSquare)(float);
float (*const kSquare)(float) = square;

}  // namespace conclave::leaky
