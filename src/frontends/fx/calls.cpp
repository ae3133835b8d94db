#include "frontends/fx/calls.h"

#include <map>

#include "frontends/common/foreign.h"

namespace qc::fx {
namespace {

/// Spellings: `t.` is torch, `F.` torch.nn.functional, `o.` operator, `q.` torch.ops.quantized, a
/// dot alone a method. Parameters: `python=aten`, `python`
/// where both are the same, `python!` the flag of the in-place form, `python*` the remaining
/// arguments as a list, `python=` one that does not matter. Where the target begins with `[]` the
/// result is a list. `^scale`, `^zero` and `^dtype` tell what codes of the result mean; `+relu` is
/// a relu before they are made.
struct Row {
  const char *spellings, *target, *parameters;
};

#define QC_CODES " scale=^scale zero_point=^zero"
#define QC_OUTPUT " output_scale=^scale output_zero_point=^zero"
constexpr Row kRows[] = {
    // Elementwise of one operand.
    {"t.relu F.relu .relu", "relu.default", "input=self inplace!"},
    {"F.relu6", "relu6.default", "input=self inplace!"},
    {"F.hardtanh", "hardtanh.default", "input=self min_val max_val inplace!"},
    {"t.threshold F.threshold", "threshold.default", "input=self threshold value inplace!"},
    {"F.gelu", "gelu.default", "input=self approximate"},
    {"F.silu", "silu.default", "input=self inplace!"},
    {"F.mish", "mish.default", "input=self inplace!"},
    {"F.hardswish", "hardswish.default", "input=self inplace!"},
    {"F.hardsigmoid", "hardsigmoid.default", "input=self inplace!"},
    {"F.leaky_relu", "leaky_relu.default", "input=self negative_slope inplace!"},
    {"F.elu", "elu.default", "input=self alpha inplace!"},
    {"F.celu t.celu", "celu.default", "input=self alpha inplace!"},
    {"F.selu t.selu", "selu.default", "input=self inplace!"},
    {"F.softplus", "softplus.default", "input=self beta threshold"},
    {"F.logsigmoid", "log_sigmoid.default", "input=self"},
    {"F.prelu t.prelu .prelu", "prelu.default", "input=self weight"},
    {"F.glu", "glu.default", "input=self dim"},
    {"t.sigmoid F.sigmoid .sigmoid t.special.expit", "sigmoid.default", "input=self"},
    {"t.tanh F.tanh .tanh", "tanh.default", "input=self"},
    {"t.exp .exp", "exp.default", "input=self"},
    {"t.log .log", "log.default", "input=self"},
    {"t.log1p .log1p", "log1p.default", "input=self"},
    {"t.sqrt .sqrt", "sqrt.default", "input=self"},
    {"t.rsqrt .rsqrt", "rsqrt.default", "input=self"},
    {"t.square .square", "square.default", "input=self"},
    {"t.reciprocal .reciprocal", "reciprocal.default", "input=self"},
    {"t.sin .sin", "sin.default", "input=self"},
    {"t.cos .cos", "cos.default", "input=self"},
    {"t.erf .erf t.special.erf", "erf.default", "input=self"},
    {"t.floor .floor", "floor.default", "input=self"},
    {"t.ceil .ceil", "ceil.default", "input=self"},
    {"t.round .round", "round.default", "input=self"},
    {"t.abs .abs o.abs", "abs.default", "input=self"},
    {"t.neg .neg o.neg t.negative .negative", "neg.default", "input=self"},
    {"t.logical_not .logical_not", "logical_not.default", "input=self"},
    {"o.invert t.bitwise_not .bitwise_not", "bitwise_not.default", "input=self"},
    {"t.clamp .clamp t.clip .clip", "clamp.default", "input=self min max"},
    {"t.clamp_min .clamp_min", "clamp_min.default", "input=self min"},
    {"t.clamp_max .clamp_max", "clamp_max.default", "input=self max"},
    // Of two operands.
    {"t.add .add o.add o.iadd", "add.Tensor", "input=self other alpha"},
    {"t.sub .sub o.sub o.isub t.subtract .subtract", "sub.Tensor", "input=self other alpha"},
    {"t.mul .mul o.mul o.imul t.multiply .multiply", "mul.Tensor", "input=self other"},
    {"t.div .div o.truediv o.itruediv t.true_divide .true_divide t.divide .divide",
     "rounding_mode:div.Tensor_mode div.Tensor", "input=self other rounding_mode"},
    {"t.floor_divide .floor_divide o.floordiv o.ifloordiv", "floor_divide.default",
     "input=self other"},
    {"t.remainder .remainder o.mod o.imod", "remainder.Tensor", "input=self other"},
    {"t.pow .pow o.pow o.ipow", "exponent@pow.Tensor_Tensor self@pow.Tensor_Scalar pow.Scalar",
     "input=self exponent"},
    {"t.maximum .maximum", "maximum.default", "input=self other"},
    {"t.minimum .minimum", "minimum.default", "input=self other"},
    {"t.eq .eq o.eq", "eq.Tensor", "input=self other"},
    {"t.ne .ne o.ne", "ne.Tensor", "input=self other"},
    {"t.lt .lt o.lt", "lt.Tensor", "input=self other"},
    {"t.le .le o.le", "le.Tensor", "input=self other"},
    {"t.gt .gt o.gt", "gt.Tensor", "input=self other"},
    {"t.ge .ge o.ge", "ge.Tensor", "input=self other"},
    {"t.logical_and .logical_and", "logical_and.default", "input=self other"},
    {"t.logical_or .logical_or", "logical_or.default", "input=self other"},
    {"t.where .where", "where.self", "condition input=self other"},
    {".masked_fill t.masked_fill", "value@masked_fill.Tensor masked_fill.Scalar",
     "input=self mask value"},
    // Products.
    {"t.matmul .matmul o.matmul o.imatmul t.linalg.matmul", "matmul.default", "input=self other"},
    {"t.mm .mm", "mm.default", "input=self mat2"},
    {"t.bmm .bmm", "bmm.default", "input=self mat2"},
    {"t.addmm .addmm", "addmm.default", "input=self mat1 mat2 beta alpha"},
    {"t.baddbmm .baddbmm", "baddbmm.default", "input=self batch1 batch2 beta alpha"},
    {"F.linear", "linear.default", "input weight bias"},
    {"F.scaled_dot_product_attention", "scaled_dot_product_attention.default",
     "query key value attn_mask dropout_p is_causal scale enable_gqa"},
    {"F.embedding", "embedding.default", "input=indices weight padding_idx"},
    {"t.conv1d F.conv1d", "conv1d.default", "input weight bias stride padding dilation groups"},
    {"t.conv2d F.conv2d", "conv2d.default", "input weight bias stride padding dilation groups"},
    {"t.conv3d F.conv3d", "conv3d.default", "input weight bias stride padding dilation groups"},
    {"t.convolution", "convolution.default",
     "input weight bias stride padding dilation transposed output_padding groups"},
    {"t.conv_transpose1d F.conv_transpose1d", "conv_transpose1d.default",
     "input weight bias stride padding output_padding groups dilation"},
    {"t.conv_transpose2d F.conv_transpose2d", "conv_transpose2d.input",
     "input weight bias stride padding output_padding groups dilation"},
    {"t.conv_transpose3d F.conv_transpose3d", "conv_transpose3d.input",
     "input weight bias stride padding output_padding groups dilation"},
    // Norms and pooling.
    {"F.batch_norm", "batch_norm.default",
     "input running_mean running_var weight bias training momentum eps"},
    {"t.batch_norm", "batch_norm.default",
     "input weight bias running_mean running_var training momentum eps cudnn_enabled="},
    {"F.layer_norm t.layer_norm", "layer_norm.default",
     "input normalized_shape weight bias eps cudnn_enable="},
    {"F.group_norm t.group_norm", "group_norm.default",
     "input num_groups weight bias eps cudnn_enabled="},
    {"F.instance_norm", "instance_norm.default",
     "input running_mean running_var weight bias use_input_stats momentum eps"},
    {"F.rms_norm", "rms_norm.default", "input normalized_shape weight eps"},
    {"t.max_pool1d F.max_pool1d", "max_pool1d.default",
     "input=self kernel_size stride padding dilation ceil_mode return_indices="},
    {"t.max_pool2d F.max_pool2d", "max_pool2d.default",
     "input=self kernel_size stride padding dilation ceil_mode return_indices="},
    {"t.max_pool3d F.max_pool3d", "max_pool3d.default",
     "input=self kernel_size stride padding dilation ceil_mode return_indices="},
    {"F.avg_pool1d t.avg_pool1d", "avg_pool1d.default",
     "input=self kernel_size stride padding ceil_mode count_include_pad"},
    {"F.avg_pool2d", "avg_pool2d.default",
     "input=self kernel_size stride padding ceil_mode count_include_pad divisor_override"},
    {"F.avg_pool3d", "avg_pool3d.default",
     "input=self kernel_size stride padding ceil_mode count_include_pad divisor_override"},
    {"F.adaptive_avg_pool1d t.adaptive_avg_pool1d", "adaptive_avg_pool1d.default",
     "input=self output_size"},
    {"F.adaptive_avg_pool2d", "adaptive_avg_pool2d.default", "input=self output_size"},
    {"F.adaptive_avg_pool3d", "adaptive_avg_pool3d.default", "input=self output_size"},
    {"F.adaptive_max_pool1d t.adaptive_max_pool1d", "adaptive_max_pool1d.default",
     "input=self output_size return_indices="},
    {"F.adaptive_max_pool2d", "adaptive_max_pool2d.default",
     "input=self output_size return_indices="},
    {"F.adaptive_max_pool3d", "adaptive_max_pool3d.default",
     "input=self output_size return_indices="},
    {"F.dropout t.dropout", "dropout.default", "input p training=train inplace!"},
    {"F.dropout1d F.dropout2d F.dropout3d F.feature_dropout", "feature_dropout.default",
     "input p training=train inplace!"},
    {"F.alpha_dropout t.alpha_dropout", "alpha_dropout.default", "input p training=train inplace!"},
    {"F.feature_alpha_dropout t.feature_alpha_dropout", "feature_alpha_dropout.default",
     "input p training=train inplace!"},
    // Reductions.
    {"t.softmax F.softmax .softmax", "softmax.int", "input=self dim _stacklevel= dtype"},
    {"t.special.softmax", "softmax.int", "input=self dim dtype"},
    {"t.special.log_softmax", "log_softmax.int", "input=self dim dtype"},
    {"t.log_softmax F.log_softmax .log_softmax", "log_softmax.int",
     "input=self dim _stacklevel= dtype"},
    {"t.mean .mean", "dim:mean.dim mean.default", "input=self dim keepdim dtype"},
    {"t.sum .sum", "dim:sum.dim_IntList sum.default", "input=self dim keepdim dtype"},
    {"t.amax .amax", "amax.default", "input=self dim keepdim"},
    {"t.amin .amin", "amin.default", "input=self dim keepdim"},
    {"t.max .max", "dim@max.other dim:max.dim max.default", "input=self dim keepdim"},
    {"t.min .min", "dim@min.other dim:min.dim min.default", "input=self dim keepdim"},
    {"t.argmax .argmax", "argmax.default", "input=self dim keepdim"},
    {"t.argmin .argmin", "argmin.default", "input=self dim keepdim"},
    {"t.var .var", "var.correction", "input=self dim correction keepdim"},
    {"t.std .std", "std.correction", "input=self dim correction keepdim"},
    {"t.cumsum .cumsum", "cumsum.default", "input=self dim dtype"},
    // Movement.
    {"t.cat t.concat t.concatenate", "cat.default", "tensors dim"},
    {"t.hstack", "hstack.default", "tensors"},
    {"t.vstack t.row_stack", "vstack.default", "tensors"},
    {"t.stack", "stack.default", "tensors dim"},
    {"t.flatten .flatten", "flatten.using_ints", "input=self start_dim end_dim"},
    {"t.ravel .ravel", "ravel.default", "input=self"},
    {".view", "view.default", "input=self size*"},
    {".view_as", "view_as.default", "input=self other"},
    {".reshape_as", "reshape_as.default", "input=self other"},
    {"t.reshape .reshape", "reshape.default", "input=self shape*"},
    {"t.permute .permute", "permute.default", "input=self dims*"},
    {"t.transpose .transpose t.swapaxes .swapaxes", "transpose.int", "input=self dim0 dim1"},
    {"t.t .t", "t.default", "input=self"},
    {"t.squeeze .squeeze", "dim:squeeze.dim squeeze.default", "input=self dim"},
    {"t.unsqueeze .unsqueeze", "unsqueeze.default", "input=self dim"},
    {".expand", "expand.default", "input=self size*"},
    {".expand_as", "expand_as.default", "input=self other"},
    {".repeat", "repeat.default", "input=self repeats*"},
    {"t.chunk .chunk", "[]chunk.default", "input=self chunks dim"},
    {"t.split .split", "[]split_size%split_with_sizes.default split.Tensor",
     "input=self split_size_or_sections=split_size dim"},
    {"t.unbind .unbind", "[]unbind.int", "input=self dim"},
    {"t.select .select", "select.int", "input=self dim index"},
    {"t.narrow .narrow", "narrow.default", "input=self dim start length"},
    {"t.gather .gather", "gather.default", "input=self dim index"},
    {"t.index_select .index_select", "index_select.default", "input=self dim index"},
    {"t.flip .flip", "flip.default", "input=self dims*"},
    {"t.roll .roll", "roll.default", "input=self shifts dims"},
    {"t.tril .tril", "tril.default", "input=self diagonal"},
    {"t.triu .triu", "triu.default", "input=self diagonal"},
    {"F.pad", "pad.default", "input=self pad mode value"},
    {"F.interpolate F.upsample", "interpolate",
     "input=self size scale_factor mode align_corners recompute_scale_factor antialias"},
    {"F.pixel_shuffle t.pixel_shuffle", "pixel_shuffle.default", "input=self upscale_factor"},
    {".contiguous", "contiguous.default", "input=self memory_format="},
    {".clone t.clone", "clone.default", "input=self memory_format="},
    {".detach t.detach", "detach.default", "input=self"},
    {".type_as", "type_as.default", "input=self other"},
    // Of quantized tensors.
    {"t.quantize_per_tensor", "quantize", "input=self scale=^scale zero_point=^zero dtype=^dtype"},
    {"t.dequantize .dequantize", "dequantize", "input=self"},
    {"q.add", "add.Tensor", "qa=self qb=other" QC_CODES},
    {"q.add_relu", "add.Tensor+relu", "qa=self qb=other" QC_CODES},
    {"q.mul", "mul.Tensor", "qa=self qb=other" QC_CODES},
    {"q.mul_relu", "mul.Tensor+relu", "qa=self qb=other" QC_CODES},
    {"q.matmul", "matmul.default", "qa=self qb=other" QC_CODES},
    {"q.cat", "cat.default", "qx=tensors dim" QC_CODES},
    {"q.hardswish", "hardswish.default", "input=self" QC_OUTPUT},
    {"q.leaky_relu", "leaky_relu.default", "qx=self negative_slope inplace=" QC_OUTPUT},
    {"q.elu", "elu.default", "self" QC_OUTPUT " alpha"},
    {"q.sigmoid", "sigmoid.default", "qx=self" QC_OUTPUT},
    {"q.softmax", "softmax.int", "qx=self dim" QC_OUTPUT},
    {"q.layer_norm", "layer_norm.default", "input normalized_shape weight bias eps" QC_OUTPUT},
    {"q.group_norm", "group_norm.default", "input num_groups weight bias eps" QC_OUTPUT},
    {"q.batch_norm q.batch_norm1d q.batch_norm2d q.batch_norm3d", "batch_norm.default",
     "qx=input weight bias mean=running_mean var=running_var eps" QC_OUTPUT},
    {"q.relu6", "relu6.default", "qx=self inplace!"},
    {"t.zeros_like", "zeros_like.default", "input=self dtype"},
    {"t.ones_like", "ones_like.default", "input=self dtype"},
};

#undef QC_CODES
#undef QC_OUTPUT

struct ModuleRow {
  const char *types, *target, *arguments;
};
#define QC_CONV                                                                           \
  "input=@ weight=#weight bias=#bias stride=$stride padding=$padding dilation=$dilation " \
  "groups=$groups"
#define QC_CONV_T QC_CONV " output_padding=$output_padding"
#define QC_POOL \
  "self=@ kernel_size=$kernel_size stride=$stride padding=$padding ceil_mode=$ceil_mode"
constexpr ModuleRow kModules[] = {
    {"Linear", "linear.default", "input=@ weight=#weight bias=#bias"},
    {"Conv1d", "conv1d.default", QC_CONV},
    {"Conv2d", "conv2d.default", QC_CONV},
    {"Conv3d", "conv3d.default", QC_CONV},
    {"ConvTranspose1d", "conv_transpose1d.default", QC_CONV_T},
    {"ConvTranspose2d", "conv_transpose2d.input", QC_CONV_T},
    {"ConvTranspose3d", "conv_transpose3d.input", QC_CONV_T},
    {"BatchNorm1d BatchNorm2d BatchNorm3d", "batch_norm.default",
     "input=@ weight=#weight bias=#bias running_mean=#running_mean running_var=#running_var "
     "training=$training momentum=$momentum eps=$eps"},
    {"LayerNorm", "layer_norm.default",
     "input=@ normalized_shape=$normalized_shape weight=#weight bias=#bias eps=$eps"},
    {"RMSNorm", "rms_norm.default",
     "input=@ normalized_shape=$normalized_shape weight=#weight eps=$eps"},
    {"GroupNorm", "group_norm.default",
     "input=@ num_groups=$num_groups weight=#weight bias=#bias eps=$eps"},
    {"ReLU", "relu.default", "self=@"},
    {"ReLU6", "relu6.default", "self=@"},
    {"Hardtanh", "hardtanh.default", "self=@ min_val=$min_val max_val=$max_val"},
    {"Threshold", "threshold.default", "self=@ threshold=$threshold value=$value"},
    {"GELU", "gelu.default", "self=@ approximate=$approximate"},
    {"SiLU", "silu.default", "self=@"},
    {"Mish", "mish.default", "self=@"},
    {"Hardswish", "hardswish.default", "self=@"},
    {"Hardsigmoid", "hardsigmoid.default", "self=@"},
    {"LeakyReLU", "leaky_relu.default", "self=@ negative_slope=$negative_slope"},
    {"ELU", "elu.default", "self=@ alpha=$alpha"},
    {"CELU", "celu.default", "self=@ alpha=$alpha"},
    {"SELU", "selu.default", "self=@"},
    {"PReLU", "prelu.default", "self=@ weight=#weight"},
    {"Softplus", "softplus.default", "self=@ beta=$beta threshold=$threshold"},
    {"Sigmoid", "sigmoid.default", "self=@"},
    {"LogSigmoid", "log_sigmoid.default", "self=@"},
    {"Tanh", "tanh.default", "self=@"},
    {"GLU", "glu.default", "self=@ dim=$dim"},
    {"Softmax", "softmax.int", "self=@ dim=$dim"},
    {"LogSoftmax", "log_softmax.int", "self=@ dim=$dim"},
    {"MaxPool1d", "max_pool1d.default", QC_POOL " dilation=$dilation"},
    {"MaxPool2d", "max_pool2d.default", QC_POOL " dilation=$dilation"},
    {"MaxPool3d", "max_pool3d.default", QC_POOL " dilation=$dilation"},
    {"AvgPool1d", "avg_pool1d.default", QC_POOL " count_include_pad=$count_include_pad"},
    {"AvgPool2d", "avg_pool2d.default",
     QC_POOL " count_include_pad=$count_include_pad divisor_override=$divisor_override"},
    {"AvgPool3d", "avg_pool3d.default",
     QC_POOL " count_include_pad=$count_include_pad divisor_override=$divisor_override"},
    {"AdaptiveAvgPool1d", "adaptive_avg_pool1d.default", "self=@ output_size=$output_size"},
    {"AdaptiveAvgPool2d", "adaptive_avg_pool2d.default", "self=@ output_size=$output_size"},
    {"AdaptiveAvgPool3d", "adaptive_avg_pool3d.default", "self=@ output_size=$output_size"},
    {"AdaptiveMaxPool1d", "adaptive_max_pool1d.default", "self=@ output_size=$output_size"},
    {"AdaptiveMaxPool2d", "adaptive_max_pool2d.default", "self=@ output_size=$output_size"},
    {"AdaptiveMaxPool3d", "adaptive_max_pool3d.default", "self=@ output_size=$output_size"},
    {"Flatten", "flatten.using_ints", "self=@ start_dim=$start_dim end_dim=$end_dim"},
    {"ConvReLU1d", "conv1d.default+relu", QC_CONV},
    {"ConvReLU2d", "conv2d.default+relu", QC_CONV},
    {"ConvReLU3d", "conv3d.default+relu", QC_CONV},
    {"LinearReLU", "linear.default+relu", "input=@ weight=#weight bias=#bias"},
    {"Quantize", "quantize", "self=@"},
    {"DeQuantize", "dequantize", "self=@"},
    {"Identity", "alias.default", "self=@"},
    {"Dropout", "dropout.default", "input=@ p=$p train=$training"},
    {"Dropout1d Dropout2d Dropout3d", "feature_dropout.default", "input=@ p=$p train=$training"},
    {"AlphaDropout", "alpha_dropout.default", "input=@ p=$p train=$training"},
    {"FeatureAlphaDropout", "feature_alpha_dropout.default", "input=@ p=$p train=$training"},
    {"Embedding", "embedding.default", "indices=@ weight=#weight padding_idx=$padding_idx"},
    {"Upsample UpsamplingNearest2d UpsamplingBilinear2d", "interpolate",
     "self=@ size=$size scale_factor=$scale_factor mode=$mode align_corners=$align_corners "
     "recompute_scale_factor=$recompute_scale_factor"},
    {"PixelShuffle", "pixel_shuffle.default", "self=@ upscale_factor=$upscale_factor"},
    {"ZeroPad1d ZeroPad2d ZeroPad3d ConstantPad1d ConstantPad2d ConstantPad3d", "pad.default",
     "self=@ pad=$padding value=$value"},
};
#undef QC_CONV
#undef QC_CONV_T
#undef QC_POOL

std::vector<std::string> words(const char* text) {
  std::vector<std::string> out;
  const std::string_view all = text;
  for (size_t begin = 0; begin < all.size();) {
    const size_t end = std::min(all.find(' ', begin), all.size());
    if (end > begin) out.emplace_back(all.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

Parameter parameter_of(const std::string& word) {
  Parameter out;
  if (const size_t at = word.find('='); at != std::string::npos) {
    out.name = word.substr(0, at);
    out.aten = word.substr(at + 1);
    return out;
  }
  out.name = word;
  if (word.back() == '!') {
    out.name.pop_back();
    out.in_place = true;
    return out;
  }
  if (word.back() == '*') {
    out.name.pop_back();
    out.rest = true;
  }
  out.aten = out.name;
  return out;
}

std::string full_name(const std::string& spelling) {
  constexpr std::pair<std::string_view, const char*> kPrefixes[] = {
      {"t.", "torch."},
      {"F.", "torch.nn.functional."},
      {"o.", "_operator."},
      {"q.", "torch._ops.quantized."}};
  for (const auto& [prefix, full] : kPrefixes) {
    if (spelling.starts_with(prefix)) return full + spelling.substr(prefix.size());
  }
  return spelling;
}

std::map<std::string, Call, std::less<>> calls() {
  std::map<std::string, Call, std::less<>> out;
  for (const Row& row : kRows) {
    Call call;
    call.target = row.target;
    if (call.target.starts_with("[]")) {
      call.lists = true;
      call.target.erase(0, 2);
    }
    for (const std::string& word : words(row.parameters))
      call.parameters.push_back(parameter_of(word));
    for (const std::string& spelling : words(row.spellings)) out.emplace(full_name(spelling), call);
  }
  return out;
}

std::map<std::string, ModuleCall, std::less<>> module_calls() {
  std::map<std::string, ModuleCall, std::less<>> out;
  for (const ModuleRow& row : kModules) {
    ModuleCall call{row.target, {}};
    for (const std::string& word : words(row.arguments)) {
      const size_t at = word.find('=');
      call.arguments.emplace_back(word.substr(0, at), word.substr(at + 1));
    }
    for (const std::string& type : words(row.types)) out.emplace(type, call);
  }
  return out;
}

template <class Map>
auto found(const Map& map, std::string_view key) -> decltype(&map.begin()->second) {
  const auto at = map.find(key);
  return at == map.end() ? nullptr : &at->second;
}

}  // namespace

const Call* find_call(std::string_view spelling) {
  static const auto all = calls();
  return found(all, spelling);
}

bool Overload::known() const { return import_table().find(package, op, 0) != nullptr; }

std::optional<Overload> find_overload(std::string_view target) {
  constexpr std::string_view kOps = "torch._ops.";
  if (!target.starts_with(kOps)) return std::nullopt;
  target.remove_prefix(kOps.size());
  const size_t dot = target.find('.');
  if (dot == target.npos || target.substr(0, dot) == "quantized") return std::nullopt;
  Overload out{std::string(target.substr(0, dot)), std::string(target.substr(dot + 1))};
  const size_t end = out.op.find('.');
  if (out.package == "aten" && end != out.op.npos && end > 1 && out.op[end - 1] == '_' &&
      out.op[end - 2] != '_') {
    out.op.erase(end - 1, 1);
    out.in_place = true;
  }
  return out;
}

const ModuleCall* find_module_call(std::string_view type) {
  static const auto all = module_calls();
  return found(all, type);
}

}  // namespace qc::fx
